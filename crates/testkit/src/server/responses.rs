//! Responses on the OpenAI responses wire.

use serde_json::{Value, json};

use super::conversation::Conversation;
use super::delivery::Events;
use super::directive::{Completion, Ending, Stop, split_characters};
use super::reply::Wire;

pub(super) fn events(body: &Value, seen: &Conversation, completion: &Completion) -> Events {
    let response = json!({"id": "resp_fake", "object": "response", "status": "in_progress",
        "model": body["model"], "output": []});
    let mut opening = vec![event("response.created", json!({ "response": response }))];
    let mut deltas = completion.say;
    let mut index = 0;
    if let Some(thinking) = &completion.thinking {
        opening.push(item_added(index, reasoning(None)));
        let part = json!({"output_index": index, "summary_index": 0});
        opening.push(event("response.reasoning_summary_part.added", part));
        for piece in split_characters(thinking, 5) {
            let delta = json!({"output_index": index, "summary_index": 0, "delta": piece});
            opening.push(event("response.reasoning_summary_text.delta", delta));
            deltas += 1;
        }
        opening.push(item_done(index, reasoning(Some(thinking))));
        index += 1;
    }
    // Events that must follow the deltas of a prebuilt blob, or the scripted break.
    let mut closing = Vec::new();
    if completion.say > 0 || !completion.pieces.is_empty() {
        opening.push(item_added(index, message("")));
        for piece in &completion.pieces {
            opening.push(text_delta_at(index, piece));
            deltas += 1;
        }
        closing.push(item_done(index, message(&completion.text())));
        index += 1;
    }
    for (offset, tool) in completion.tools.iter().enumerate() {
        let index = index + offset;
        let id = Wire::OpenAiResponses.call_id(seen.calls + offset + 1);
        closing.push(item_added(index, call(&id, &tool.name, "")));
        if !tool.arguments.is_empty() {
            for piece in split_characters(&tool.arguments, 12) {
                let delta = json!({"output_index": index, "item_id": id, "delta": piece});
                closing.push(event("response.function_call_arguments.delta", delta));
                deltas += 1;
            }
        }
        let done = json!({"output_index": index, "arguments": tool.arguments});
        closing.push(event("response.function_call_arguments.done", done));
        closing.push(item_done(index, call(&id, &tool.name, &tool.arguments)));
    }
    if completion.ending == Ending::Complete && completion.say == 0 {
        opening.append(&mut closing);
    }
    let mut tail = closing;
    if completion.ending == Ending::ErrorEvent {
        let error = json!({"code": "server_error", "message": "scripted mid-stream error",
            "param": null});
        tail = vec![event("error", error)];
    } else {
        let (name, details) = match completion.stop {
            Stop::Length => (
                "response.incomplete",
                json!({"reason": "max_output_tokens"}),
            ),
            Stop::End | Stop::ToolUse => ("response.completed", Value::Null),
        };
        let response = json!({"id": "resp_fake", "object": "response", "model": body["model"],
            "error": null, "incomplete_details": details, "usage": usage(seen, deltas)});
        tail.push(event(name, json!({ "response": response })));
    }
    Events { opening, tail }
}

pub(super) fn text_delta(text: &str) -> String {
    text_delta_at(0, text)
}

/// Returns the response to a request that does not stream.
pub(super) fn whole(body: &Value, seen: &Conversation, completion: &Completion) -> String {
    let mut output = Vec::new();
    let text = completion.text();
    if !text.is_empty() {
        output.push(message(&text));
    }
    for (index, tool) in completion.tools.iter().enumerate() {
        let id = Wire::OpenAiResponses.call_id(seen.calls + index + 1);
        output.push(call(&id, &tool.name, &tool.arguments));
    }
    let (status, details) = match completion.stop {
        Stop::Length => ("incomplete", json!({"reason": "max_output_tokens"})),
        Stop::End | Stop::ToolUse => ("completed", Value::Null),
    };
    json!({"id": "resp_fake", "object": "response", "status": status,
        "incomplete_details": details, "model": body["model"], "output": output,
        "usage": usage(seen, completion.say + completion.pieces.len())})
    .to_string()
}

/// Returns the start of an event with a text delta that never ends.
pub(super) fn endless_delta() -> &'static str {
    "event: response.output_text.delta\n\
     data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\""
}

fn text_delta_at(index: usize, text: &str) -> String {
    let delta = json!({"output_index": index, "content_index": 0, "delta": text});
    event("response.output_text.delta", delta)
}

fn item_added(index: usize, item: Value) -> String {
    let added = json!({"output_index": index, "item": item});
    event("response.output_item.added", added)
}

fn item_done(index: usize, item: Value) -> String {
    let done = json!({"output_index": index, "item": item});
    event("response.output_item.done", done)
}

fn message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_fake", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
        "arguments": arguments})
}

fn reasoning(thinking: Option<&str>) -> Value {
    match thinking {
        None => json!({"type": "reasoning", "id": "rs_fake", "summary": []}),
        Some(thinking) => json!({"type": "reasoning", "id": "rs_fake",
            "summary": [{"type": "summary_text", "text": thinking}],
            "encrypted_content": format!("signature over {thinking}")}),
    }
}

fn usage(seen: &Conversation, output: usize) -> Value {
    let input = 100 * seen.messages;
    let cached = if input >= 20 { 20 } else { 0 };
    json!({"input_tokens": input, "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + output})
}

fn event(name: &str, mut data: Value) -> String {
    data["type"] = name.into();
    format!("event: {name}\ndata: {data}\n\n")
}
