//! JSON lines: written without line breaks, read with Go's leniency about keys.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt;
use std::io;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Appends `value` to `buffer` as one line.
///
/// U+2028 and U+2029 are escaped because some readers split lines there.
pub fn write_line(buffer: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    let start = buffer.len();
    let mut serializer = serde_json::Serializer::with_formatter(&mut *buffer, OneLine);
    if let Err(error) = value.serialize(&mut serializer) {
        // Half a line would corrupt every line after it.
        buffer.truncate(start);
        return Err(error);
    }
    buffer.push(b'\n');
    Ok(())
}

/// Writes compact JSON that no reader can mistake for two lines.
struct OneLine;

impl serde_json::ser::Formatter for OneLine {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        write_escaping_separators(writer, fragment)
    }

    /// Raw JSON may be pretty-printed: line breaks in it are white space between tokens, since
    /// inside a string they would be escaped.
    fn write_raw_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(position) = memchr::memchr2(b'\n', b'\r', rest.as_bytes()) {
            write_escaping_separators(writer, &rest[..position])?;
            writer.write_all(b" ")?;
            rest = &rest[position + 1..];
        }
        write_escaping_separators(writer, rest)
    }
}

fn write_escaping_separators<W: ?Sized + io::Write>(writer: &mut W, text: &str) -> io::Result<()> {
    // Both separators are three bytes that start with 0xE2.
    let mut written = 0;
    for position in memchr::memchr_iter(0xE2, text.as_bytes()) {
        let escape: &[u8] = match text.as_bytes().get(position + 1..position + 3) {
            Some([0x80, 0xA8]) => b"\\u2028",
            Some([0x80, 0xA9]) => b"\\u2029",
            _ => continue,
        };
        writer.write_all(&text.as_bytes()[written..position])?;
        writer.write_all(escape)?;
        written = position + 3;
    }
    writer.write_all(&text.as_bytes()[written..])
}

/// JSON text that is passed through unchanged.
#[derive(Clone)]
pub struct RawJson(Box<RawValue>);

impl RawJson {
    pub fn empty_object() -> Self {
        Self(serde_json::value::RawValue::from_string("{}".to_owned()).unwrap_or_default())
    }

    pub fn get(&self) -> &str {
        self.0.get()
    }
}

impl From<&RawValue> for RawJson {
    fn from(raw: &RawValue) -> Self {
        Self(raw.to_owned())
    }
}

impl TryFrom<String> for RawJson {
    type Error = serde_json::Error;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        RawValue::from_string(text).map(Self)
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.get())
    }
}

impl PartialEq for RawJson {
    /// Compares the values, not the white space between their tokens.
    fn eq(&self, other: &Self) -> bool {
        let value = |raw: &Self| serde_json::from_str::<serde_json::Value>(raw.get()).ok();
        self.get() == other.get() || value(self) == value(other)
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    /// Decodes through a value because raw text is not available inside a tagged enum
    /// (serde-rs/json#545).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        RawJson::try_from(value.to_string()).map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for RawJson {
    fn schema_name() -> Cow<'static, str> {
        "AnyJson".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Schema::from(true)
    }
}

/// The most fields an object may have. Each costs many times its length on the line, so a line of tiny
/// fields would grow to hundreds of megabytes.
///
/// Limit: the line is refused; reading continues.
const MAX_OBJECT_FIELDS: usize = 1024;

/// The fields of one JSON object, not yet decoded.
///
/// Names match in any letter case, and the last of several fields with the same name wins, as in Go's
/// decoder.
#[derive(Debug, Default)]
pub struct Fields(Vec<(String, Box<RawValue>)>);

/// Why a line cannot be decoded as an object.
#[derive(Debug, thiserror::Error)]
pub enum FieldsError {
    #[error("line is not valid UTF-8 at byte {0}")]
    NotUtf8(usize),
    #[error("{0}")]
    NotJson(#[from] serde_json::Error),
}

impl Fields {
    /// Reads one object. `null` counts as an object without fields.
    pub fn parse(line: &[u8]) -> Result<Self, FieldsError> {
        let text =
            std::str::from_utf8(line).map_err(|error| FieldsError::NotUtf8(error.valid_up_to()))?;
        let text = replace_lone_surrogates(text);
        Ok(serde_json::from_str::<Option<Fields>>(&text)?.unwrap_or_default())
    }

    /// Returns the undecoded value of a field; `null` counts as absent.
    pub fn raw(&self, name: &str) -> Option<&RawValue> {
        let (_, raw) = self
            .0
            .iter()
            .rev()
            .find(|(key, _)| key.eq_ignore_ascii_case(name))?;
        (raw.get() != "null").then_some(&**raw)
    }

    /// Returns the names of the fields that are not absent, as they were written.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let names = self.0.iter().map(|(name, _)| name.as_str());
        names.filter(|name| self.raw(name).is_some())
    }

    /// Decodes a field, with its default when absent.
    pub fn get<T: DeserializeOwned + Default>(&self, name: &str) -> serde_json::Result<T> {
        self.raw(name)
            .map_or_else(|| Ok(T::default()), |raw| serde_json::from_str(raw.get()))
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor;

        impl<'de> Visitor<'de> for FieldsVisitor {
            type Value = Fields;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<String, Box<RawValue>>()? {
                    if fields.len() == MAX_OBJECT_FIELDS {
                        return Err(serde::de::Error::custom(format_args!(
                            "an object may have {MAX_OBJECT_FIELDS} fields at most"
                        )));
                    }
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(FieldsVisitor)
    }
}

/// Replaces escaped surrogates without a partner by U+FFFD.
///
/// JavaScript clients produce them when they cut a string in the middle of an emoji, and Python writes
/// them unchanged; rejecting the whole request would help nobody.
pub(crate) fn replace_lone_surrogates(text: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let bytes = text.as_bytes();
    let mut repaired: Option<Vec<u8>> = None;
    let mut position = 0;
    while let Some(offset) = memchr::memchr(b'\\', &bytes[position..]) {
        let at = position + offset;
        let Some(unit) = escaped_unit(bytes, at) else {
            position = at + 2;
            if position > bytes.len() {
                break;
            }
            continue;
        };
        let pairs = matches!(unit, 0xD800..=0xDBFF)
            && matches!(escaped_unit(bytes, at + 6), Some(0xDC00..=0xDFFF));
        if matches!(unit, 0xD800..=0xDFFF) && !pairs {
            let output = repaired.get_or_insert_with(|| bytes.to_vec());
            output[at + 2..at + 6].copy_from_slice(b"FFFD");
        }
        position = at + if pairs { 12 } else { 6 };
    }
    match repaired.map(String::from_utf8) {
        Some(Ok(text)) => Cow::Owned(text),
        _ => Cow::Borrowed(text),
    }
}

/// Returns the code unit of a `\uXXXX` escape at `at`.
fn escaped_unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}
