//! Replaces, inserts and removes values in the text of a JSON object.

use super::super::document::{Object, line, offset, without_position};

/// The indentation of a file that has none of its own.
const INDENTATION: &str = "  ";

/// Why a text cannot be changed.
pub(super) struct TextProblem {
    /// From 1; 0 if unknown.
    pub(super) line: usize,
    pub(super) text: String,
}

/// Returns `text` with the JSON `value` at `path`, or without what is there. Objects on the way are made if
/// they are missing.
pub(super) fn with(text: &str, path: &[&str], value: Option<&str>) -> Result<String, TextProblem> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        return match value {
            Some(value) => Ok(format!(
                "{}\n",
                pretty(&nested(path, value), "", INDENTATION)
            )),
            None => Ok(text.to_owned()),
        };
    }
    let start = text.len() - text.trim_start().len();
    let (before, object) = text.split_at(start);
    let end = object.trim_end().len();
    let (object, after) = object.split_at(end);
    let unit = indentation_of(object).unwrap_or(INDENTATION);
    let changed = Change {
        whole: text,
        unit,
        value,
    }
    .object(object, path, "")?;
    Ok(format!("{before}{changed}{after}"))
}

struct Change<'a> {
    whole: &'a str,
    unit: &'a str,
    value: Option<&'a str>,
}

impl Change<'_> {
    /// Changes the object with the text `object`, whose closing brace is indented by `indent`.
    fn object(&self, object: &str, path: &[&str], indent: &str) -> Result<String, TextProblem> {
        let Some((key, rest)) = path.split_first() else {
            return Ok(object.to_owned());
        };
        let parsed = Object::parse(object).map_err(|error| match error.is_data() {
            true => TextProblem {
                line: line(self.whole, object),
                text: "expected a JSON object".to_owned(),
            },
            false => TextProblem {
                line: error.line(),
                text: without_position(&error),
            },
        })?;
        let inner =
            indentation_of(object).map_or_else(|| format!("{indent}{}", self.unit), str::to_owned);
        match (parsed.get(key), rest, self.value) {
            (None, _, None) => Ok(object.to_owned()),
            (None, _, Some(value)) => {
                let value = match rest {
                    [] => value.to_owned(),
                    rest => nested(rest, value),
                };
                Ok(self.inserted(object, &parsed, key, &value, &inner, indent))
            }
            (Some(_), [], None) => Ok(removed(object, &parsed, key, indent)),
            (Some(old), rest, value) => {
                let new = match (rest, value) {
                    ([], Some(value)) => pretty(value, &inner, self.unit),
                    _ => self.object(old.get(), rest, &inner)?,
                };
                let start = offset(object, old.get());
                let before = object.get(..start).unwrap_or_default();
                let after = object.get(start + old.get().len()..).unwrap_or_default();
                Ok(format!("{before}{new}{after}"))
            }
        }
    }

    fn inserted(
        &self,
        object: &str,
        parsed: &Object<'_>,
        key: &str,
        value: &str,
        inner: &str,
        indent: &str,
    ) -> String {
        let key = serde_json::Value::from(key);
        let value = pretty(value, inner, self.unit);
        let Some((_, last)) = parsed.entries.last() else {
            return format!("{{\n{inner}{key}: {value}\n{indent}}}");
        };
        let end = offset(object, last.get()) + last.get().len();
        let (before, after) = object.split_at(end);
        match indentation_of(object) {
            Some(_) => format!("{before},\n{inner}{key}: {value}{after}"),
            None => format!("{before}, {key}: {value}{after}"),
        }
    }
}

/// Returns the object without the entries of that name.
fn removed(object: &str, parsed: &Object<'_>, key: &str, indent: &str) -> String {
    let end_of = |index: usize| {
        let value = parsed
            .entries
            .get(index)
            .map_or("", |(_, value)| value.get());
        offset(object, value) + value.len()
    };
    let kept: Vec<usize> = (0..parsed.entries.len())
        .filter(|index| {
            parsed
                .entries
                .get(*index)
                .is_some_and(|(name, _)| name != key)
        })
        .collect();
    let Some(last) = parsed
        .entries
        .len()
        .checked_sub(1)
        .filter(|_| !kept.is_empty())
    else {
        return "{}".to_owned();
    };
    let mut text = "{".to_owned();
    for (position, index) in kept.iter().enumerate() {
        let start = match index {
            0 => 1,
            index => end_of(index - 1),
        };
        // From the end of the entry before, so the comma comes along, unless it is the first.
        let entry = object.get(start..end_of(*index)).unwrap_or_default();
        text.push_str(match (position, index) {
            (0, 1..) => after_comma(entry),
            _ => entry,
        });
    }
    match object.get(end_of(last)..) {
        Some(rest) => text + rest,
        None => format!("{text}\n{indent}}}"),
    }
}

/// Returns what follows the comma that separates an entry from the one before.
fn after_comma(entry: &str) -> &str {
    entry.split_once(',').map_or(entry, |(_, rest)| rest)
}

fn nested(path: &[&str], value: &str) -> String {
    let mut text = value.to_owned();
    for key in path.iter().rev() {
        text = format!("{{{}: {text}}}", serde_json::Value::from(*key));
    }
    text
}

/// Returns how the first entry of an object is indented, if it is on a line of its own.
fn indentation_of(object: &str) -> Option<&str> {
    let rest = object.strip_prefix('{')?;
    let blanks = rest.get(..rest.len() - rest.trim_start().len())?;
    blanks.rsplit_once('\n').map(|(_, indentation)| indentation)
}

/// Returns the JSON `text` on several lines, in its order; the first line is not indented. Short lists and
/// empty ones stay on one line.
fn pretty(text: &str, indent: &str, unit: &str) -> String {
    let text = text.trim();
    match (Object::parse(text), text.starts_with('[')) {
        (Ok(object), _) if object.entries.is_empty() => "{}".to_owned(),
        (Ok(object), _) => {
            let inner = format!("{indent}{unit}");
            let entries: Vec<String> = object
                .entries
                .iter()
                .map(|(key, value)| {
                    let key = serde_json::Value::from(key.as_str());
                    format!("{inner}{key}: {}", pretty(value.get(), &inner, unit))
                })
                .collect();
            format!("{{\n{}\n{indent}}}", entries.join(",\n"))
        }
        (Err(_), true) => one_line(text),
        (Err(_), false) => text.to_owned(),
    }
}

/// Returns a list on one line.
fn one_line(text: &str) -> String {
    let items: Result<Vec<&serde_json::value::RawValue>, _> = serde_json::from_str(text);
    match items {
        Ok(items) => {
            let items: Vec<&str> = items.iter().map(|item| item.get()).collect();
            format!("[{}]", items.join(", "))
        }
        Err(_) => text.to_owned(),
    }
}
