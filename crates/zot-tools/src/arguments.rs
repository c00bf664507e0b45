//! Reads the arguments of a call, with errors that name the field to correct.
//!
//! Not derived with serde: its type errors do not name the field, and it would silently use the
//! last of two fields with the same name.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

/// The fields of one JSON object, each of which can be taken once.
#[derive(Debug)]
pub(crate) struct Fields<'a>(Vec<(String, &'a RawValue)>);

/// Arguments that do not match the tool's schema.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArgumentError {
    #[error("invalid args: {field} must be {expected}, got {got}")]
    WrongType {
        field: String,
        expected: &'static str,
        got: &'static str,
    },
    #[error("invalid args: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl<'a> Fields<'a> {
    pub(crate) fn parse(arguments: &'a RawValue) -> Result<Self, ArgumentError> {
        Ok(serde_json::from_str(arguments.get())?)
    }

    /// Reads one element of an array argument; errors refer to it as `name`.
    pub(crate) fn from_element(name: &str, element: &'a RawValue) -> Result<Self, ArgumentError> {
        if element.get().starts_with('{') {
            return Self::parse(element);
        }
        Err(wrong_type(
            name,
            "an object",
            &serde_json::from_str(element.get())?,
        ))
    }

    /// Takes an optional text; `null` counts as absent.
    pub(crate) fn take_string(&mut self, field: &str) -> Result<Option<String>, ArgumentError> {
        match self.take_value(field)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(field, "a string", &other)),
        }
    }

    /// Takes an optional whole number; `2.0` is one, `"2"` is not.
    pub(crate) fn take_integer(&mut self, field: &str) -> Result<Option<i64>, ArgumentError> {
        let Some(value) = self.take_value(field)? else {
            return Ok(None);
        };
        let integer = value.as_i64().or_else(|| {
            value
                .as_f64()
                .filter(|number| number.fract() == 0.0)
                .map(|number| number as i64)
        });
        integer
            .map(Some)
            .ok_or_else(|| wrong_type(field, "an integer", &value))
    }

    /// Takes an optional array with unparsed elements; `null` counts as absent.
    pub(crate) fn take_array(
        &mut self,
        field: &str,
    ) -> Result<Option<Vec<&'a RawValue>>, ArgumentError> {
        let Some(raw) = self.take(field) else {
            return Ok(None);
        };
        if raw.get().starts_with('[') {
            return Ok(Some(serde_json::from_str(raw.get())?));
        }
        Err(wrong_type(
            field,
            "an array",
            &serde_json::from_str(raw.get())?,
        ))
    }

    fn take_value(&mut self, field: &str) -> Result<Option<Value>, ArgumentError> {
        let raw = self.take(field);
        Ok(raw.map(|raw| serde_json::from_str(raw.get())).transpose()?)
    }

    fn take(&mut self, field: &str) -> Option<&'a RawValue> {
        let index = self.0.iter().position(|(name, _)| name == field)?;
        let (_, raw) = self.0.swap_remove(index);
        (raw.get() != "null").then_some(raw)
    }
}

fn wrong_type(field: &str, expected: &'static str, got: &Value) -> ArgumentError {
    let got = match got {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    ArgumentError::WrongType {
        field: field.to_owned(),
        expected,
        got,
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields: Vec<(String, &'de RawValue)> = Vec::new();
        while let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? {
            if fields.iter().any(|(known, _)| *known == name) {
                return Err(serde::de::Error::custom(format_args!(
                    "{name} is given more than once"
                )));
            }
            fields.push((name, value));
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests;
