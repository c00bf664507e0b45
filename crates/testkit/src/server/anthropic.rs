//! Responses on the Anthropic messages wire.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::delivery::Events;
use super::directive::{Completion, Ending, Stop, split_characters};
use super::reply::Wire;
use super::thinking::signature;

pub(super) fn events(body: &Value, seen: &Conversation, completion: &Completion) -> Events {
    let input = (100 * seen.messages).saturating_sub(20);
    let message = json!({
        "id": "msg_fake", "type": "message", "role": "assistant", "model": body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": input, "output_tokens": 1,
            "cache_read_input_tokens": 20, "cache_creation_input_tokens": 10,
        },
    });
    let mut opening = vec![event("message_start", json!({ "message": message }))];
    let mut deltas = completion.say;
    let mut index = 0;
    if let Some(thinking) = &completion.thinking {
        let block = json!({"type": "thinking", "thinking": "", "signature": ""});
        opening.push(block_start(index, block));
        for piece in split_characters(thinking, 5) {
            let delta = json!({"type": "thinking_delta", "thinking": piece});
            opening.push(block_delta(index, delta));
            deltas += 1;
        }
        let signature = signature(body, thinking);
        let delta = json!({"type": "signature_delta", "signature": signature});
        opening.push(block_delta(index, delta));
        opening.push(block_stop(index));
        index += 1;
    }
    // Events that must follow the deltas of a prebuilt blob, or the scripted break.
    let mut closing = Vec::new();
    if completion.say > 0 || !completion.pieces.is_empty() {
        opening.push(block_start(index, json!({"type": "text", "text": ""})));
        opening.push(event("ping", json!({})));
        for piece in &completion.pieces {
            let delta = json!({"type": "text_delta", "text": piece});
            opening.push(block_delta(index, delta));
            deltas += 1;
        }
        closing.push(block_stop(index));
        index += 1;
    }
    for (offset, tool) in completion.tools.iter().enumerate() {
        let (index, id) = (
            index + offset,
            Wire::Anthropic.call_id(seen.calls + offset + 1),
        );
        let block = json!({"type": "tool_use", "id": id, "name": tool.name, "input": {}});
        closing.push(block_start(index, block));
        if !tool.arguments.is_empty() {
            for piece in split_characters(&tool.arguments, 12) {
                let delta = json!({"type": "input_json_delta", "partial_json": piece});
                closing.push(block_delta(index, delta));
                deltas += 1;
            }
        }
        closing.push(block_stop(index));
    }
    if completion.ending == Ending::Complete && completion.say == 0 {
        opening.append(&mut closing);
    }
    let mut tail = closing;
    if completion.ending == Ending::ErrorEvent {
        let error = json!({"type": "overloaded_error", "message": "scripted mid-stream error"});
        tail = vec![event("error", json!({ "error": error }))];
    } else {
        tail.push(event(
            "message_delta",
            json!({
                "delta": {"stop_reason": stop_reason(completion.stop), "stop_sequence": null},
                "usage": {"output_tokens": deltas},
            }),
        ));
        tail.push(event("message_stop", json!({})));
    }
    Events { opening, tail }
}

pub(super) fn text_delta(text: &str) -> String {
    block_delta(0, json!({"type": "text_delta", "text": text}))
}

/// Returns the response to a request that does not stream.
pub(super) fn whole(body: &Value, seen: &Conversation, completion: &Completion) -> String {
    let mut content = Vec::new();
    let text = completion.text();
    if !text.is_empty() {
        content.push(json!({"type": "text", "text": text}));
    }
    for (index, tool) in completion.tools.iter().enumerate() {
        let input: Value = serde_json::from_str(&tool.arguments).unwrap_or_else(|_| json!({}));
        let id = Wire::Anthropic.call_id(seen.calls + index + 1);
        content.push(json!({"type": "tool_use", "id": id, "name": tool.name, "input": input}));
    }
    json!({
        "id": "msg_fake", "type": "message", "role": "assistant", "model": body["model"],
        "content": content, "stop_reason": stop_reason(completion.stop), "stop_sequence": null,
        "usage": {
            "input_tokens": 100 * seen.messages,
            "output_tokens": completion.say + completion.pieces.len(),
        },
    })
    .to_string()
}

/// Handwritten, because clients show the raw body and its key order is part of recordings.
pub(super) fn error_body(message: &str) -> String {
    let message = Value::from(message);
    format!(r#"{{"type":"error","error":{{"type":"api_error","message":{message}}}}}"#)
}

pub(super) fn overflow_body() -> String {
    json!({"type": "error", "error": {
        "type": "invalid_request_error",
        "message": "prompt is too long: 204801 tokens > 200000 maximum",
    }})
    .to_string()
}

/// Returns the start of an event with a text delta that never ends.
pub(super) fn endless_delta() -> &'static str {
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\
     \"delta\":{\"type\":\"text_delta\",\"text\":\""
}

fn block_start(index: usize, block: Value) -> String {
    event(
        "content_block_start",
        json!({"index": index, "content_block": block}),
    )
}

fn block_delta(index: usize, delta: Value) -> String {
    event(
        "content_block_delta",
        json!({"index": index, "delta": delta}),
    )
}

fn block_stop(index: usize) -> String {
    event("content_block_stop", json!({ "index": index }))
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::ToolUse => "tool_use",
        Stop::Length => "max_tokens",
    }
}
