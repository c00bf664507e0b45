//! Keeps secrets out of cassettes: known values, and what looks like a key.

mod shape;

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem::Finder;
use serde_json::Value;
use serde_json::value::RawValue;

use super::request::Redacted;
use shape::Shapes;

/// What stands where a secret was. In a recorded request it matches any text.
pub const REDACTED: &str = "[redacted]";

/// Shorter values are words rather than secrets.
const MIN_VALUE_BYTES: usize = 8;

/// What the names of variables that hold secrets end in.
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
    values: Vec<Finder<'static>>,
    shapes: Option<Shapes>,
}

impl Redactor {
    /// Finds nothing.
    pub(super) const NONE: Self = Self {
        values: Vec::new(),
        shapes: None,
    };

    /// Finds the shapes of well-known keys, `credentials`, and the values of variables of
    /// `environment` that are named like secrets.
    pub fn new<'a>(
        credentials: impl IntoIterator<Item = &'a str>,
        environment: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let mut redactor = Self {
            values: Vec::new(),
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
        }
        redactor
    }

    /// Finds `text` as well, however short.
    pub fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        // Text inside JSON, and inside JSON that is quoted in JSON.
        let escaped = escape(text);
        let twice = escape(&escaped);
        for form in [text, &escaped, &twice] {
            let known = |finder: &Finder<'_>| finder.needle() == form.as_bytes();
            if !self.values.iter().any(known) {
                self.values.push(Finder::new(form).into_owned());
            }
        }
    }

    fn add_secret(&mut self, value: &str) {
        let value = value.trim();
        if value.len() >= MIN_VALUE_BYTES {
            self.add_text(value);
        }
    }

    /// The secrets in `text`, in order and apart from each other.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let bytes = text.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        for value in &self.values {
            let length = value.needle().len();
            found.extend(value.find_iter(bytes).map(|start| start..start + length));
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

    /// `text` without its secrets.
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

    /// JSON without the secrets in its texts; `None` when there are none.
    pub(super) fn apply_to_json(
        &self,
        raw: &RawValue,
    ) -> serde_json::Result<Option<Box<RawValue>>> {
        if self.find(raw.get()).is_empty() {
            return Ok(None);
        }
        let value: Value = serde_json::from_str(raw.get())?;
        let redacted = self.apply_to_value(value.clone());
        // What was found may be part of the structure, which is no secret.
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

/// Whether a key is one of the cassette's own.
fn is_structure(key: &str) -> bool {
    STRUCTURE.contains(&key)
}

/// `text` as it stands between the quotes of JSON.
fn escape(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests;
