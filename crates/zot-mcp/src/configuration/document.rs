//! JSON objects whose entries keep their order, their text and their place.

use std::fmt;

use serde::de::{Deserializer as _, MapAccess, Visitor};
use serde_json::value::RawValue;

/// An object, as a part of the text it was read from.
#[derive(Debug, Clone)]
pub(super) struct Object<'a> {
    pub(super) entries: Vec<(String, &'a RawValue)>,
}

impl<'a> Object<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let entries = deserializer.deserialize_map(Entries)?;
        deserializer.end()?;
        Ok(Self { entries })
    }

    /// Returns the last value of that name, which wins as in most readers of JSON.
    pub(super) fn get(&self, name: &str) -> Option<&'a RawValue> {
        let mut entries = self.entries.iter().rev();
        entries
            .find(|(key, _)| key == name)
            .map(|(_, value)| *value)
    }
}

/// Returns the offset of `part` in `whole`, of which it must be a part.
pub(super) fn offset(whole: &str, part: &str) -> usize {
    (part.as_ptr() as usize).saturating_sub(whole.as_ptr() as usize)
}

/// Returns the line on which `part` begins.
pub(super) fn line(whole: &str, part: &str) -> usize {
    let before = whole.get(..offset(whole, part)).unwrap_or(whole);
    before.matches('\n').count() + 1
}

/// Returns an error of the parser without its position.
pub(super) fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split(" at line ")
        .next()
        .unwrap_or_default()
        .to_owned()
}

struct Entries;

impl<'de> Visitor<'de> for Entries {
    type Value = Vec<(String, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
