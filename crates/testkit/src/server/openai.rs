//! Responses on the OpenAI chat-completions wire.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::delivery::Events;
use super::directive::{Completion, Ending, Stop, split_characters};
use super::reply::Wire;

const CREATED: u64 = 1_700_000_000;

pub(super) fn events(body: &Value, seen: &Conversation, completion: &Completion) -> Events {
    let model = model_of(body);
    let delta = |delta: Value| event(&model, delta, None);
    let mut opening = vec![delta(json!({"role": "assistant", "content": ""}))];
    let mut deltas = completion.say;
    if let Some(thinking) = &completion.thinking {
        for piece in split_characters(thinking, 5) {
            opening.push(delta(json!({ "reasoning_content": piece })));
            deltas += 1;
        }
    }
    for piece in &completion.pieces {
        opening.push(text_delta(&model, piece));
        deltas += 1;
    }
    for (index, tool) in completion.tools.iter().enumerate() {
        let id = Wire::OpenAi.call_id(seen.calls + index + 1);
        opening.push(delta(json!({"tool_calls": [{
            "index": index, "id": id, "type": "function",
            "function": {"name": tool.name, "arguments": ""},
        }]})));
        if tool.arguments.is_empty() {
            continue;
        }
        for piece in split_characters(&tool.arguments, 12) {
            let call = json!({"index": index, "function": {"arguments": piece}});
            opening.push(delta(json!({ "tool_calls": [call] })));
            deltas += 1;
        }
    }
    let tail = match completion.ending {
        Ending::ErrorEvent => {
            let error =
                json!({"error": {"message": "scripted mid-stream error", "type": "server_error"}});
            vec![format!("data: {error}\n\n")]
        }
        _ => {
            let mut tail = vec![event(
                &model,
                json!({}),
                Some(finish_reason(completion.stop)),
            )];
            if body["stream_options"]["include_usage"] == true {
                let mut last = chunk(&model, json!([]));
                last["usage"] = usage(seen, deltas);
                tail.push(format!("data: {last}\n\n"));
            }
            tail.push("data: [DONE]\n\n".to_owned());
            tail
        }
    };
    Events { opening, tail }
}

pub(super) fn text_delta(model: &str, text: &str) -> String {
    event(model, json!({ "content": text }), None)
}

/// Returns the response to a request that does not stream.
pub(super) fn whole(body: &Value, seen: &Conversation, completion: &Completion) -> String {
    let mut message = json!({"role": "assistant", "content": completion.text()});
    if !completion.tools.is_empty() {
        let calls = completion.tools.iter().enumerate().map(|(index, tool)| {
            json!({
                "id": Wire::OpenAi.call_id(seen.calls + index + 1), "type": "function",
                "function": {"name": tool.name, "arguments": tool.arguments},
            })
        });
        message["tool_calls"] = calls.collect();
    }
    json!({
        "id": "chatcmpl-fake", "object": "chat.completion", "created": CREATED,
        "model": model_of(body),
        "choices": [{
            "index": 0, "message": message, "finish_reason": finish_reason(completion.stop),
        }],
        "usage": usage(seen, completion.say + completion.pieces.len()),
    })
    .to_string()
}

/// Handwritten, because clients show the raw body and its key order is part of recordings.
pub(super) fn error_body(status: u16, message: &str) -> String {
    let message = Value::from(message);
    format!(r#"{{"error":{{"message":{message},"type":"scripted","code":"{status}"}}}}"#)
}

pub(super) fn overflow_body() -> String {
    let message = "This model's maximum context length is 128000 tokens. However, your messages \
                   resulted in 131072 tokens. Please reduce the length of the messages.";
    json!({"error": {
        "message": message, "type": "invalid_request_error", "param": "messages",
        "code": "context_length_exceeded",
    }})
    .to_string()
}

/// Returns the start of an event with a text delta that never ends.
pub(super) fn endless_delta() -> &'static str {
    r#"data: {"id":"chatcmpl-fake","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":""#
}

fn event(model: &str, delta: Value, finish_reason: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
    format!("data: {}\n\n", chunk(model, json!([choice])))
}

fn chunk(model: &str, choices: Value) -> Value {
    json!({
        "id": "chatcmpl-fake", "object": "chat.completion.chunk", "created": CREATED,
        "model": model, "choices": choices,
    })
}

fn usage(seen: &Conversation, output: usize) -> Value {
    let input = 100 * seen.messages;
    let cached = if input >= 20 { 20 } else { 0 };
    json!({
        "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        "prompt_tokens_details": {"cached_tokens": cached},
    })
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "stop",
        Stop::ToolUse => "tool_calls",
        Stop::Length => "length",
    }
}

fn model_of(body: &Value) -> String {
    body["model"].as_str().unwrap_or("?").to_owned()
}
