//! Shorthands for reading JSON of other programs.

use serde_json::Value;

use super::Finding;
use crate::{Event, Usage};

pub(super) fn text<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object.get(name)?.as_str()
}

pub(super) fn owned(object: &Value, name: &str) -> Option<String> {
    text(object, name).map(str::to_owned)
}

/// Returns the count, or 0 if it is missing or not a number.
pub(super) fn count(object: &Value, name: &str) -> u64 {
    object.get(name).and_then(Value::as_u64).unwrap_or(0)
}

/// Returns the cost, ignoring what is negative or not a number.
pub(super) fn cost(object: &Value, name: &str) -> f64 {
    object
        .get(name)
        .and_then(Value::as_f64)
        .filter(|cost| cost.is_finite() && *cost >= 0.0)
        .unwrap_or(0.0)
}

/// Splits the input of an agent that includes cached tokens into new and cached input.
pub(super) fn input_and_cache(input: u64, cached: u64) -> (u64, u64) {
    (input.saturating_sub(cached), cached)
}

/// Returns the first number that could be an HTTP error status: `500: overloaded`, `status 401`.
pub(crate) fn http_status(message: &str) -> Option<u64> {
    message
        .split(|character: char| !character.is_ascii_alphanumeric())
        .filter(|word| word.len() == 3)
        .filter_map(|word| word.parse().ok())
        .find(|status| (400..600).contains(status))
}

/// Returns `content` as text, whether it is a string or blocks.
pub(super) fn content(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| text(block, "text"))
            .collect(),
        _ => String::new(),
    }
}

pub(super) fn push(findings: &mut Vec<Finding>, event: Event) {
    findings.push(Finding::Event(event));
}

pub(super) fn push_usage(findings: &mut Vec<Finding>, usage: Usage) {
    findings.push(Finding::Usage(usage));
}
