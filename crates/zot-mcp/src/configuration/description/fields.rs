//! Typed access to the keys of an entry.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::document::Object;

/// The keys of an entry. `null` counts as not set. Errors name the key and never repeat a value, which may
/// be a secret.
pub(super) struct Fields<'a>(pub(super) &'a Object<'a>);

impl<'a> Fields<'a> {
    pub(super) fn get(&self, key: &str) -> Option<&'a RawValue> {
        self.0.get(key).filter(|value| value.get() != "null")
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some()
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<String>, String> {
        self.typed(key, "a string")
    }

    pub(super) fn switch(&self, key: &str) -> Result<Option<bool>, String> {
        self.typed(key, "true or false")
    }

    pub(super) fn number(&self, key: &str) -> Result<Option<u64>, String> {
        self.typed(key, "a whole number that is not negative")
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<String>, String> {
        Ok(self.typed(key, "a list of strings")?.unwrap_or_default())
    }

    /// Returns an object of strings. Numbers and switches are taken as text, as people write ports and
    /// flags without quotes.
    pub(super) fn pairs(&self, key: &str) -> Result<BTreeMap<String, String>, String> {
        let pairs = self.ordered_pairs(key)?;
        Ok(pairs.into_iter().collect())
    }

    pub(super) fn ordered_pairs(&self, key: &str) -> Result<Vec<(String, String)>, String> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let object = Object::parse(value.get()).map_err(|_| {
            let found = kind_of(value);
            format!("{key:?} must be an object of strings, got {found}")
        })?;
        let mut pairs = Vec::new();
        for (name, value) in &object.entries {
            let text = match serde_json::from_str(value.get()) {
                Ok(Value::String(text)) => text,
                Ok(Value::Number(_) | Value::Bool(_)) => value.get().to_owned(),
                _ => {
                    let found = kind_of(value);
                    return Err(format!("{name:?} in {key:?} must be a string, got {found}"));
                }
            };
            pairs.push((name.clone(), text));
        }
        Ok(pairs)
    }

    fn typed<T: DeserializeOwned>(&self, key: &str, expected: &str) -> Result<Option<T>, String> {
        let Some(value) = self.get(key) else {
            return Ok(None);
        };
        serde_json::from_str(value.get()).map(Some).map_err(|_| {
            let found = kind_of(value);
            format!("{key:?} must be {expected}, got {found}")
        })
    }
}

/// Returns what kind of value it is, in words.
pub(super) fn kind_of(value: &RawValue) -> &'static str {
    match value.get().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}
