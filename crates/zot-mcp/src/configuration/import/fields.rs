//! Lenient access to values of other clients' files.

use std::collections::BTreeMap;

use serde_json::Value;

/// Returns a text, also from a number or a switch.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        _ => None,
    }
}

/// Returns the text of `key`, which the server needs.
pub(super) fn required(value: &Value, key: &str) -> Result<String, String> {
    text(&value[key])
        .filter(|text| !text.trim().is_empty())
        .ok_or_else(|| format!("{key:?} is missing"))
}

pub(super) fn texts(value: &Value) -> Vec<String> {
    value
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(text)
        .collect()
}

pub(super) fn pairs(value: &Value) -> BTreeMap<String, String> {
    let pairs = value.as_object().into_iter().flatten();
    pairs
        .filter_map(|(name, value)| Some((name.clone(), text(value)?)))
        .collect()
}

/// Returns a number of seconds or milliseconds, also from a text.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => value.as_f64(),
    }
    .filter(|number| number.is_finite() && *number > 0.0)
}

pub(super) fn is_false(value: &Value) -> bool {
    *value == Value::Bool(false)
}
