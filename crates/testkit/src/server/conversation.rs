//! What the server needs to know about the conversation it is asked to continue.

use serde_json::Value;

/// The start of the user message by which agents show tool-result images to models that cannot
/// see them in place. It is no prompt.
const IMAGE_MIRROR: &str = "Tool output included the following image content:";

/// A request, looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Conversation {
    /// The text of the last real user message.
    pub(super) directive: String,
    /// Assistant messages since then.
    pub(super) turns: usize,
    /// Tool calls in the whole request.
    pub(super) calls: usize,
    pub(super) messages: usize,
}

impl Conversation {
    pub(super) fn of(body: &Value) -> Self {
        let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        let mut seen = Self {
            calls: messages.iter().map(calls_in).sum(),
            messages: messages.len(),
            ..Self::default()
        };
        for message in messages.iter().rev() {
            match message["role"].as_str() {
                Some("assistant") => seen.turns += 1,
                Some("user") => {
                    let content = &message["content"];
                    let text = text_of(content);
                    if only_tool_results(content) || text.starts_with(IMAGE_MIRROR) {
                        continue;
                    }
                    seen.directive = text.trim().to_owned();
                    break;
                }
                _ => {}
            }
        }
        seen
    }
}

fn calls_in(message: &Value) -> usize {
    let openai = message["tool_calls"].as_array().map_or(0, Vec::len);
    let anthropic = match (&message["role"], &message["content"]) {
        (Value::String(role), Value::Array(blocks)) if role == "assistant" => blocks
            .iter()
            .filter(|block| block["type"] == "tool_use")
            .count(),
        _ => 0,
    };
    openai + anthropic
}

fn only_tool_results(content: &Value) -> bool {
    content.as_array().is_some_and(|blocks| {
        !blocks.is_empty() && blocks.iter().all(|block| block["type"] == "tool_result")
    })
}

fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks
            .iter()
            .filter(|block| block["type"] == "text" || block["type"] == "input_text")
            .filter_map(|block| block["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}
