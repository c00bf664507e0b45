//! The entries of `auth.json`, in their original order and form, so that changing one leaves the
//! others as they are.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

/// Where the original keeps the keys of providers that have no top-level entry.
const MORE: &str = "additional_api_key_creds";

/// Providers that have another name in the original.
const OTHER_NAMES: [(&str, &str); 2] = [("gemini", "google"), ("kimi", "moonshotai")];

/// An object whose values are kept as raw text.
#[derive(Default, Clone)]
pub(crate) struct Entries(Vec<(String, Box<RawValue>)>);

impl Entries {
    /// Returns the entry for `provider`, wherever the original or we keep it.
    ///
    /// Prefers an entry that is not empty: the original writes an empty object for every provider it
    /// knows.
    pub(crate) fn find(&self, provider: &str) -> Option<Value> {
        let mut names = OTHER_NAMES.iter();
        let other = names
            .find(|(ours, _)| *ours == provider)
            .map(|(_, theirs)| *theirs);
        let more = self.more();
        let found = [Some(provider), other].into_iter().flatten();
        let found: Vec<Value> = found
            .flat_map(|name| [more.value(name), self.value(name)])
            .flatten()
            .collect();
        let used = found.iter().position(|entry| !holds_nothing(entry));
        found.into_iter().nth(used.unwrap_or_default())
    }

    /// Returns all entries that are not empty, including the original's additional providers, by our
    /// names.
    pub(crate) fn all(&self) -> Vec<(String, Value)> {
        let own = self.0.iter().filter(|(name, _)| name != MORE);
        let mut all: Vec<(String, Value)> = Vec::new();
        for (name, _) in own.chain(&self.more().0) {
            let mut names = OTHER_NAMES.iter();
            let ours = names.find(|(_, theirs)| theirs == name);
            let name = ours.map_or(name.as_str(), |(ours, _)| *ours);
            if all.iter().any(|(known, _)| known == name) {
                continue;
            }
            match self.find(name) {
                Some(entry) if !holds_nothing(&entry) => all.push((name.to_owned(), entry)),
                _ => {}
            }
        }
        all.sort_by(|left, right| left.0.cmp(&right.0));
        all
    }

    /// Sets `entry` as the only one for `provider`.
    pub(crate) fn put(&mut self, provider: &str, entry: &Value) -> serde_json::Result<()> {
        let raw = to_raw_value(entry)?;
        self.change_more(|more| more.take(provider))?;
        match self.0.iter_mut().find(|(name, _)| name == provider) {
            Some((_, old)) => *old = raw,
            None => self.0.push((provider.to_owned(), raw)),
        }
        Ok(())
    }

    /// Removes the entries for `provider`; returns whether there was a credential.
    pub(crate) fn remove(&mut self, provider: &str) -> serde_json::Result<bool> {
        let held = self.find(provider).is_some_and(|e| !holds_nothing(&e));
        let mut names = OTHER_NAMES.iter();
        let other = names.find(|(ours, _)| *ours == provider);
        for name in [Some(provider), other.map(|(_, theirs)| *theirs)] {
            let Some(name) = name else { continue };
            self.take(name);
            self.change_more(|more| more.take(name))?;
        }
        Ok(held)
    }

    fn value(&self, name: &str) -> Option<Value> {
        let mut entries = self.0.iter().rev();
        let (_, raw) = entries.find(|(key, _)| key == name)?;
        serde_json::from_str(raw.get()).ok()
    }

    fn more(&self) -> Self {
        let mut entries = self.0.iter().rev();
        let raw = entries.find(|(key, _)| key == MORE).map(|(_, raw)| raw);
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    fn take(&mut self, name: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(key, _)| key != name);
        self.0.len() < before
    }

    fn change_more(&mut self, change: impl FnOnce(&mut Self) -> bool) -> serde_json::Result<()> {
        let mut more = self.more();
        if !change(&mut more) {
            return Ok(());
        }
        if more.0.is_empty() {
            self.take(MORE);
        } else if let Some((_, raw)) = self.0.iter_mut().rev().find(|(key, _)| key == MORE) {
            *raw = to_raw_value(&more)?;
        }
        Ok(())
    }
}

/// Returns whether the entry is empty, as the original writes it for a provider without a credential.
pub(crate) fn holds_nothing(entry: &Value) -> bool {
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    match entry {
        Value::Object(fields) => fields
            .iter()
            .all(|(name, value)| name == "type" || is_empty(value)),
        Value::String(text) => text.trim().is_empty(),
        _ => false,
    }
}

impl Serialize for Entries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, raw)| (name, raw)))
    }
}

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(InOrder).map(Self)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Vec<(String, Box<RawValue>)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object of providers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries)
    }
}
