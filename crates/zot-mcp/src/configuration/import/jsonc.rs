//! JSON with comments and trailing commas, as editors write it.

use serde_json::Value;

use super::super::document::without_position;

/// Parses `text`. An empty one is an empty object.
pub(super) fn parse(text: &str) -> Result<Value, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let plain = plain(text);
    if plain.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    serde_json::from_str(&plain)
        .map_err(|error| format!("line {}: {}", error.line(), without_position(&error)))
}

/// Returns `text` without comments and trailing commas; lines stay where they are.
fn plain(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    // Where a comma is in the result, if only blanks follow it so far.
    let mut comma = None;
    while let Some(letter) = rest.chars().next() {
        let taken = match letter {
            '"' => string_length(rest),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            letter => letter.len_utf8(),
        };
        let (token, after) = rest.split_at(taken);
        rest = after;
        match letter {
            '/' => {
                let breaks = token.matches('\n').count();
                result.extend(std::iter::repeat_n('\n', breaks));
                continue;
            }
            ',' => comma = Some(result.len()),
            '}' | ']' => {
                if let Some(position) = comma.take() {
                    result.replace_range(position..=position, " ");
                }
            }
            letter if letter.is_whitespace() => {}
            _ => comma = None,
        }
        result.push_str(token);
    }
    result
}

/// Returns the length of the string at the start of `text`, with its quotes.
fn string_length(text: &str) -> usize {
    let mut letters = text.char_indices().skip(1);
    while let Some((position, letter)) = letters.next() {
        match letter {
            '\\' => drop(letters.next()),
            '"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}
