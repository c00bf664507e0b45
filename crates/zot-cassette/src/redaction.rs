//! Keeps secrets out of cassettes: known values, and what looks like a key.

mod forms;
mod shape;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use serde_json::Value;
use serde_json::value::RawValue;

use super::request::Redacted;
use forms::{Unescaped, encoded, in_json};
use shape::Shapes;

/// Replaces a secret. In a recorded request it matches any text.
pub const REDACTED: &str = "[redacted]";

/// Shorter values are words rather than secrets.
///
/// Limit: shorter values of environment variables are not removed from recordings.
const MIN_REDACTED_VALUE_BYTES: usize = 8;

/// Suffixes of the names of variables that hold secrets.
const SECRET_SUFFIXES: [&str; 4] = ["_KEY", "_TOKEN", "_SECRET", "_PASSWORD"];

/// The keys of recorded messages and tools that are long enough to be mistaken for a secret.
const STRUCTURE: [&str; 9] = [
    "arguments",
    "description",
    "encrypted",
    "is_error",
    "malformed_arguments",
    "mime_type",
    "parameters",
    "provider",
    "signature",
];

/// Finds secrets in text.
#[derive(Debug)]
pub struct Redactor {
    values: BTreeSet<String>,
    /// Finds all values in one pass over a text, however many there are.
    finder: Option<AhoCorasick>,
    shapes: Option<Shapes>,
}

impl Redactor {
    /// Finds nothing.
    pub(super) const NONE: Self = Self {
        values: BTreeSet::new(),
        finder: None,
        shapes: None,
    };

    /// Finds the shapes of well-known keys, `credentials`, and the values of variables of
    /// `environment` that are named like secrets or hold a password for a proxy: as they are, escaped
    /// in any way, and encoded.
    pub fn new<'a>(
        credentials: impl IntoIterator<Item = &'a str>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut redactor = Self {
            values: BTreeSet::new(),
            finder: None,
            shapes: Some(Shapes::new()),
        };
        for credential in credentials {
            redactor.add_secret(credential);
        }
        for (name, value) in environment {
            let name = name.to_ascii_uppercase();
            if SECRET_SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
                redactor.add_secret(&value);
            }
            if let Some(password) = password_of_url(&value) {
                redactor.add_secret(password);
            }
        }
        redactor.build();
        redactor
    }

    /// Also finds `text`, however short.
    pub fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.add_forms(text);
        self.build();
    }

    fn add_secret(&mut self, value: &str) {
        let value = value.trim();
        if value.len() >= MIN_REDACTED_VALUE_BYTES {
            self.add_forms(value);
        }
    }

    fn add_forms(&mut self, text: &str) {
        self.values.extend(in_json(text));
        // The encoded forms of a short text would match everywhere.
        if text.len() >= MIN_REDACTED_VALUE_BYTES {
            self.values.extend(encoded(text));
        }
    }

    fn build(&mut self) {
        // A table of all transitions would be slightly faster and much larger.
        let mut builder = AhoCorasick::builder();
        builder
            .kind(Some(AhoCorasickKind::ContiguousNFA))
            .match_kind(MatchKind::Standard);
        self.finder = match self.values.is_empty() {
            true => None,
            false => builder.build(&self.values).ok(),
        };
    }

    fn find_values(&self, bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
        let matches = self
            .finder
            .iter()
            .flat_map(move |finder| finder.find_overlapping_iter(bytes));
        matches.map(|found| found.range())
    }

    /// Returns the secrets in `text`, in order and without overlap.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        found.extend(self.find_values(bytes));
        if self.finder.is_some()
            && let Some(unescaped) = Unescaped::of(text)
        {
            let parts = self.find_values(&unescaped.bytes);
            found.extend(parts.map(|part| unescaped.place(part)));
        }
        if let Some(shapes) = &self.shapes {
            shapes.find(bytes, &mut found);
        }
        if found.len() > 1 {
            found.sort_unstable_by_key(|range| range.start);
            found.dedup_by(|next, last| {
                let overlaps = next.start < last.end;
                if overlaps {
                    last.end = last.end.max(next.end);
                }
                overlaps
            });
        }
        found
    }

    /// Returns `text` without its secrets.
    pub(super) fn apply<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut redacted = String::with_capacity(text.len());
        let mut rest = 0;
        for range in found {
            redacted.push_str(text.get(rest..range.start).unwrap_or_default());
            redacted.push_str(REDACTED);
            rest = range.end;
        }
        redacted.push_str(text.get(rest..).unwrap_or_default());
        Cow::Owned(redacted)
    }

    /// Returns the JSON without the secrets in its texts; `None` when there are none.
    pub(super) fn apply_to_json(
        &self,
        raw: &RawValue,
    ) -> serde_json::Result<Option<Box<RawValue>>> {
        if self.find(raw.get()).is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_str(raw.get())?;
        let redacted = self.apply_to_value(value.clone());
        // The match may be part of the structure, which is not a secret.
        if redacted == value {
            return Ok(None);
        }
        serde_json::value::to_raw_value(&redacted).map(Some)
    }

    fn apply_to_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.apply(&text).into_owned()),
            Value::Array(values) => values
                .into_iter()
                .map(|value| self.apply_to_value(value))
                .collect(),
            Value::Object(fields) => fields
                .into_iter()
                .map(|(key, value)| match is_structure(&key) {
                    true => (key, self.apply_to_value(value)),
                    false => (self.apply(&key).into_owned(), self.apply_to_value(value)),
                })
                .collect(),
            Value::Number(number) if !self.find(&number.to_string()).is_empty() => REDACTED.into(),
            value @ (Value::Null | Value::Bool(_) | Value::Number(_)) => value,
        }
    }

    pub(super) fn string<'a>(&'a self, text: &'a str) -> Redacted<'a> {
        Redacted {
            text,
            redactor: self,
        }
    }
}

/// Returns the password in a URL such as that of a proxy.
fn password_of_url(value: &str) -> Option<&str> {
    let (_, rest) = value.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    Some(user.split_once(':')?.1)
}

/// Whether a key is one of the cassette's own.
fn is_structure(key: &str) -> bool {
    STRUCTURE.contains(&key)
}

#[cfg(test)]
mod tests;
