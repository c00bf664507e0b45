//! Finds the targets of references.

use super::MAX_SCHEMA_NESTING;
use crate::declaration::json::Json;

/// Finds the schema with the anchor or id `name`.
pub(super) fn anchored<'a>(json: &'a Json, name: &str, depth: usize) -> Option<&'a Json> {
    if depth > 4 * MAX_SCHEMA_NESTING {
        return None;
    }
    match json {
        Json::Object(fields) => {
            let is_named = ["$anchor", "$dynamicAnchor", "$id", "id"]
                .iter()
                .any(|keyword| {
                    let text = fields.get(keyword).and_then(Json::as_str);
                    text.is_some_and(|text| text.trim_start_matches('#') == name)
                });
            match is_named {
                true => Some(json),
                false => fields
                    .iter()
                    .find_map(|(_, value)| anchored(value, name, depth + 1)),
            }
        }
        Json::Array(values) => values
            .iter()
            .find_map(|value| anchored(value, name, depth + 1)),
        _ => None,
    }
}

pub(super) fn percent_decoded(text: &str) -> String {
    if !text.contains('%') {
        return text.to_owned();
    }
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let decoded = (byte == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        rest = match decoded {
            Some(_) => after.get(2..).unwrap_or_default(),
            None => after,
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
