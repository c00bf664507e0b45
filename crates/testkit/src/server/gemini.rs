//! Responses on the Gemini wire.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::delivery::Events;
use super::directive::{Completion, Ending, Stop, ToolUse, split_characters};

pub(super) fn events(seen: &Conversation, completion: &Completion) -> Events {
    let mut opening = Vec::new();
    let mut deltas = completion.say;
    // This wire signs what follows the thinking: the first call or the end of the text.
    let mut signature = None;
    if let Some(thinking) = &completion.thinking {
        for piece in split_characters(thinking, 5) {
            opening.push(chunk(&[json!({"text": piece, "thought": true})]));
            deltas += 1;
        }
        signature = Some(format!("signature over {thinking}"));
    }
    for piece in &completion.pieces {
        opening.push(text_delta(piece));
        deltas += 1;
    }
    // All calls of a step are in one chunk.
    let mut calls: Vec<Value> = completion.tools.iter().map(call).collect();
    deltas += calls.len();
    if let (Some(signature), Some(first)) = (&signature, calls.first_mut()) {
        first["thoughtSignature"] = signature.as_str().into();
    }
    let mut closing = Vec::new();
    if !calls.is_empty() {
        closing.push(chunk(&calls));
    }
    if completion.ending == Ending::Complete && completion.say == 0 {
        opening.append(&mut closing);
    }
    let mut tail = closing;
    if completion.ending == Ending::ErrorEvent {
        let error = json!({"error": {"code": 503, "status": "UNAVAILABLE",
            "message": "scripted mid-stream error"}});
        tail = vec![format!("data: {error}\n\n")];
    } else {
        let mut last = json!({"text": ""});
        if let (Some(signature), true) = (signature, completion.tools.is_empty()) {
            last["thoughtSignature"] = signature.into();
        }
        let candidate = json!({"content": {"role": "model", "parts": [last]},
            "finishReason": finish_reason(completion.stop), "index": 0});
        let last = json!({"candidates": [candidate], "usageMetadata": usage(seen, deltas)});
        tail.push(format!("data: {last}\n\n"));
    }
    Events { opening, tail }
}

pub(super) fn text_delta(text: &str) -> String {
    chunk(&[json!({ "text": text })])
}

/// Returns the response to a request that does not stream.
pub(super) fn whole(seen: &Conversation, completion: &Completion) -> String {
    let mut parts = vec![json!({ "text": completion.text() })];
    parts.extend(completion.tools.iter().map(call));
    let deltas = completion.say + completion.pieces.len();
    let candidate = json!({"content": {"role": "model", "parts": parts},
        "finishReason": finish_reason(completion.stop), "index": 0});
    json!({"candidates": [candidate], "usageMetadata": usage(seen, deltas)}).to_string()
}

pub(super) fn error_body(status: u16, message: &str) -> String {
    let name = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        _ => "UNAVAILABLE",
    };
    json!({"error": {"code": status, "message": message, "status": name}}).to_string()
}

pub(super) fn overflow_body() -> String {
    error_body(
        400,
        "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576).",
    )
}

/// Returns the start of an event with a text delta that never ends.
pub(super) fn endless_delta() -> &'static str {
    r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":""#
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::Length => "MAX_TOKENS",
        Stop::End | Stop::ToolUse => "STOP",
    }
}

fn chunk(parts: &[Value]) -> String {
    let chunk = json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}],
        "modelVersion": "fake"});
    format!("data: {chunk}\n\n")
}

/// Arguments must be an object on this wire.
fn call(tool: &ToolUse) -> Value {
    let arguments: Value = serde_json::from_str(&tool.arguments).unwrap_or_else(|_| json!({}));
    json!({"functionCall": {"name": tool.name, "args": arguments}})
}

/// Counts every fifth output token as thinking, so that clients must add both.
fn usage(seen: &Conversation, output: usize) -> Value {
    let input = 100 * seen.messages;
    let cached = if input >= 20 { 20 } else { 0 };
    let thoughts = output / 5;
    json!({"promptTokenCount": input, "cachedContentTokenCount": cached,
        "candidatesTokenCount": output - thoughts, "thoughtsTokenCount": thoughts,
        "totalTokenCount": input + output})
}
