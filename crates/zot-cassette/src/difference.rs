//! Where two requests first differ.

use std::fmt;

use serde_json::Value;

use super::mask::{Mask, same_text};

/// How much of a value is shown.
const SHOWN_CHARACTERS: usize = 60;
/// How much of it is shown before the position where it differs.
const SHOWN_BEFORE: usize = 20;

/// The first position at which a request differs from the recorded one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Difference {
    path: String,
    recorded: String,
    now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: recorded {}, now {}",
            self.path, self.recorded, self.now
        )
    }
}

impl Difference {
    /// Describes two texts that differ.
    pub(super) fn of_texts(path: impl Into<String>, recorded: &str, now: &str) -> Self {
        let same = recorded
            .char_indices()
            .zip(now.chars())
            .find(|((_, left), right)| left != right)
            .map_or_else(|| recorded.len().min(now.len()), |((index, _), _)| index);
        Self {
            path: path.into(),
            recorded: clipped_text(recorded, same),
            now: clipped_text(now, same),
        }
    }

    /// Describes two values, one of which may be missing.
    pub(super) fn of_values(
        path: impl Into<String>,
        recorded: Option<&Value>,
        now: Option<&Value>,
    ) -> Self {
        let show = |value: Option<&Value>| match value {
            None => "nothing".to_owned(),
            Some(Value::String(text)) => clipped_text(text, 0),
            Some(value) => clip(&value.to_string(), 0),
        };
        Self {
            path: path.into(),
            recorded: show(recorded),
            now: show(now),
        }
    }
}

/// The masks of the two runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Masks<'a> {
    pub(super) recorded: Mask<'a>,
    pub(super) now: Mask<'a>,
}

impl Masks<'_> {
    /// Compares system prompts.
    pub(super) fn compare_systems(&self, recorded: &str, now: &str) -> Option<Difference> {
        let (recorded, now) = (self.recorded.system(recorded), self.now.system(now));
        let same = same_text(&recorded, &now);
        (!same).then(|| Difference::of_texts("system", &recorded, &now))
    }

    /// Compares two values at `path`.
    pub(super) fn compare(&self, path: &str, recorded: &Value, now: &Value) -> Option<Difference> {
        match (recorded, now) {
            (Value::String(recorded), Value::String(now)) => {
                // The path may be the same relative to another working directory.
                let places_kept = Mask::default();
                if same_text(&places_kept.text(recorded), &places_kept.text(now)) {
                    return None;
                }
                let (recorded, now) = (self.recorded.text(recorded), self.now.text(now));
                let same = same_text(&recorded, &now);
                (!same).then(|| Difference::of_texts(path, &recorded, &now))
            }
            (Value::Array(recorded), Value::Array(now)) => (0..recorded.len().max(now.len()))
                .find_map(|index| {
                    let path = format!("{path}[{index}]");
                    self.compare_parts(&path, recorded.get(index), now.get(index))
                }),
            (Value::Object(recorded), Value::Object(now)) => {
                let only_now = now.keys().filter(|key| !recorded.contains_key(*key));
                recorded.keys().chain(only_now).find_map(|key| {
                    let path = format!("{path}.{key}");
                    self.compare_parts(&path, recorded.get(key), now.get(key))
                })
            }
            // JSON whose structure contained a secret is kept as a text.
            (Value::String(recorded), now @ (Value::Object(_) | Value::Array(_)))
                if same_text(recorded, &now.to_string()) =>
            {
                None
            }
            (recorded, now) if recorded == now => None,
            (recorded, now) => Some(Difference::of_values(path, Some(recorded), Some(now))),
        }
    }

    fn compare_parts(
        &self,
        path: &str,
        recorded: Option<&Value>,
        now: Option<&Value>,
    ) -> Option<Difference> {
        match (recorded, now) {
            (Some(recorded), Some(now)) => self.compare(path, recorded, now),
            (recorded, now) => Some(Difference::of_values(path, recorded, now)),
        }
    }
}

/// Quotes `text`, clipped to what surrounds `place`.
fn clipped_text(text: &str, place: usize) -> String {
    format!("{:?}", clip(text, place))
}

fn clip(text: &str, place: usize) -> String {
    if text.chars().nth(SHOWN_CHARACTERS).is_none() {
        return text.to_owned();
    }
    let before = text.get(..place).unwrap_or(text);
    let start = match before.char_indices().rev().nth(SHOWN_BEFORE - 1) {
        Some((start, _)) => start,
        None => 0,
    };
    let shown: String = text
        .get(start..)
        .unwrap_or_default()
        .chars()
        .take(SHOWN_CHARACTERS)
        .collect();
    let left = if start > 0 { "…" } else { "" };
    let right = if start + shown.len() < text.len() {
        "…"
    } else {
        ""
    };
    format!("{left}{shown}{right}")
}

#[cfg(test)]
mod tests;
