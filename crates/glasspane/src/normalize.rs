//! Normalises the events of zot, which `docs/events.md` describes.

#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::source::http_status;
use crate::{Contact, Event, Kind, MAX_HOSTS, Retry};

/// The longest name of a host; the names of DNS are shorter.
///
/// Limit: a longer name is cut.
const MAX_HOST_BYTES: usize = 255;

/// Converts one line of `zot rpc` or `zot --json`. Returns `None` for lines that change no state:
/// successful responses, `usage`, and `tool_call`, which repeats a `tool_use_start`.
pub fn normalize(object: &Value) -> Option<Event> {
    let Some(kind) = object.get("type").and_then(Value::as_str) else {
        return Some(Event::unknown(""));
    };
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let tool = |kind| Event {
        tool_id: text("id"),
        tool_name: text("name"),
        ..Event::new(kind)
    };
    Some(match kind {
        "text_delta" => Event {
            text: text("delta"),
            role: Some("assistant".to_owned()),
            ..Event::new(Kind::MessageUpdate)
        },
        "thinking_delta" => Event::thought(text("delta").unwrap_or_default()),
        "tool_use_args" => Event {
            text: text("delta"),
            arguments: Some(true),
            ..tool(Kind::ToolExecutionUpdate)
        },
        "tool_progress" => Event {
            text: text("text"),
            ..tool(Kind::ToolExecutionUpdate)
        },
        "usage" | "tool_call" => return None,
        "response" => return failed_response(object),
        "user_message" => Event::prompt(content_text(object)),
        "turn_start" => Event {
            step: object.get("step").and_then(Value::as_u64),
            ..Event::new(Kind::TurnStart)
        },
        "assistant_start" => Event {
            role: Some("assistant".to_owned()),
            ..Event::new(Kind::MessageStart)
        },
        "tool_use_start" => tool(Kind::ToolExecutionStart),
        "tool_use_end" => Event {
            arguments: Some(true),
            ..tool(Kind::ToolExecutionUpdate)
        },
        "assistant_message" => Event::answer(content_text(object)),
        "turn_end" => Event {
            stop: text("stop"),
            message: text("error"),
            ..Event::new(Kind::TurnEnd)
        },
        "tool_result" => Event {
            text: Some(content_text(object)),
            whole: true,
            is_error: object.get("is_error").and_then(Value::as_bool),
            network: contacts(object),
            ..tool(Kind::ToolExecutionEnd)
        },
        "error" => Event {
            message: text("message"),
            ..Event::new(Kind::Error)
        },
        "done" => Event::new(Kind::AgentEnd),
        "tool_confirm" => Event {
            text: text("preview"),
            whole: true,
            ..tool(Kind::ApprovalRequest)
        },
        "tool_question" => Event {
            tool_id: text("call_id"),
            text: text("message"),
            whole: true,
            ..Event::new(Kind::ApprovalRequest)
        },
        _ => return Some(other(kind, object)),
    })
}

/// The hosts that a call contacted through the sandbox, or wanted to.
fn contacts(object: &Value) -> Vec<Contact> {
    let listed = object.get("network").and_then(Value::as_array);
    let contact = |contact: &Value| {
        let host = contact.get("host").and_then(Value::as_str)?;
        Some(Contact {
            host: host[..host.floor_char_boundary(MAX_HOST_BYTES)].to_owned(),
            port: contact.get("port").and_then(Value::as_u64)?,
            allowed: contact.get("allowed").and_then(Value::as_bool)?,
        })
    };
    let contacts = listed.into_iter().flatten().filter_map(contact);
    contacts.take(MAX_HOSTS).collect()
}

/// A command that failed. The agent continues, as `raw_type` shows.
fn failed_response(object: &Value) -> Option<Event> {
    let succeeded = object.get("success").and_then(Value::as_bool);
    if succeeded != Some(false) {
        return None;
    }
    let command = object.get("command").and_then(Value::as_str).unwrap_or("?");
    let error = object
        .get("error")
        .and_then(Value::as_str)
        .unwrap_or("failed");
    Some(Event {
        raw_type: Some("response".to_owned()),
        ..Event::error(format!("{command}: {error}"))
    })
}

/// Events of zot that the original does not have; none changes what the agent is doing.
fn other(kind: &str, object: &Value) -> Event {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
    if kind == "retry" {
        let number = |name: &str| object.get(name).and_then(Value::as_u64);
        let retry = Retry {
            attempt: number("failures"),
            delay_ms: number("wait_ms"),
            status: http_status(text("message")),
            ..Retry::default()
        };
        return Event::retry(retry, text("message"));
    }
    let message = match kind {
        "ext_notify" => format!("{}: {}", text("extension"), text("message")),
        "ext_display" => format!("{}: {}", text("extension"), text("text")),
        "ext_panel" => format!("{}: shows {}", text("extension"), text("title")),
        "ext_panel_close" => format!("{}: closed {}", text("extension"), text("panel_id")),
        "steer_dropped" => format!("not delivered: {}", content_text(object)),
        "fallback" => format!(
            "{} failed, {} takes over: {}",
            text("from"),
            text("to"),
            text("message")
        ),
        "compact_done" => "the conversation was compacted".to_owned(),
        "mcp_state" => match text("error") {
            "" => format!("MCP server {}: {}", text("name"), text("state")),
            error => format!("MCP server {}: {}: {error}", text("name"), text("state")),
        },
        _ => return Event::unknown(kind),
    };
    Event {
        is_error: (kind == "ext_notify" && text("level") == "error"
            || kind == "mcp_state" && text("state") == "failed")
            .then_some(true),
        raw_type: Some(kind.to_owned()),
        ..Event::notice(message)
    }
}

/// Concatenates the text blocks of `content`.
pub(crate) fn content_text(object: &Value) -> String {
    match object.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| block.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}
