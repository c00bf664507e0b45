//! Reads the body of a `<tool_call>` block: `{"name": …, "arguments": {…}}`.
//!
//! Blanks and a code fence are allowed around the object, other keys beside the two, and `arguments`
//! may be missing or null. Anything else is an error that the model reads.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::blocks::BlockBody;
use super::scanner::CallScanner;

/// The name given to a call whose own could not be read. Providers accept it as the name of a tool,
/// because a conversation may continue with a model that calls tools natively.
pub(crate) const INVALID_CALL: &str = "invalid_tool_call";

const FENCE: &str = "```";

/// A call as it is written in a block.
#[derive(Debug, Deserialize)]
pub(crate) struct WrittenCall<'a> {
    #[serde(borrow)]
    pub(crate) name: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

/// Why a block is not a call.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CallError {
    #[error("it is empty")]
    Empty,
    #[error("it is not one JSON object")]
    NoObject,
    #[error("its name is empty")]
    NoName,
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

pub(crate) fn read_call(body: &str) -> Result<WrittenCall<'_>, CallError> {
    let object = without_fence(body.trim());
    if object.is_empty() {
        return Err(CallError::Empty);
    }
    if !object.starts_with('{') {
        return Err(CallError::NoObject);
    }
    let call: WrittenCall<'_> = serde_json::from_str(object)?;
    if call.name.is_empty() {
        return Err(CallError::NoName);
    }
    Ok(call)
}

fn without_fence(text: &str) -> &str {
    let fenced = text
        .strip_prefix(FENCE)
        .and_then(|inner| inner.strip_suffix(FENCE));
    match fenced {
        Some(inner) => inner.strip_prefix("json").unwrap_or(inner).trim(),
        None => text,
    }
}

/// What a finished block means: the name to call and the text of its arguments.
///
/// The arguments of a body that is not a call are never a JSON object, unless its name could not be
/// read either: a call that is not fully understood must not run. They begin with everything that
/// the scanner has reported.
pub(crate) struct FinishedCall<'a> {
    pub(crate) name: Cow<'a, str>,
    pub(crate) arguments: &'a str,
}

impl<'a> FinishedCall<'a> {
    pub(crate) fn new(body: BlockBody<'a>, scanner: &'a CallScanner) -> Self {
        if body.dropped_bytes == 0
            && let Ok(call) = read_call(body.text)
        {
            return Self {
                name: call.name,
                arguments: call.arguments.map_or("", RawValue::get),
            };
        }
        let Some(name) = scanner.name() else {
            return Self {
                name: INVALID_CALL.into(),
                arguments: body.text,
            };
        };
        let arguments = scanner
            .arguments_start()
            .and_then(|start| body.text.get(start..))
            // Blanks alone would mean no arguments.
            .filter(|arguments| !arguments.trim().is_empty());
        Self {
            name: name.into(),
            arguments: without_its_end(arguments.unwrap_or(body.text)),
        }
    }
}

/// Cuts off the last brace of a text that would be an object.
fn without_its_end(text: &str) -> &str {
    let is_object = serde_json::from_str::<&RawValue>(text.trim())
        .is_ok_and(|object| object.get().starts_with('{'));
    match text.rfind('}') {
        Some(end) if is_object => &text[..end],
        _ => text,
    }
}
