//! Extracts what the server needs from a request.

use serde_json::Value;

use super::reply::Wire;

/// The start of the user message that repeats images of tool results, for models that cannot see them
/// there. It is not a prompt.
const IMAGE_MIRROR: &str = "Tool output included the following image content:";

/// The relevant parts of a request.
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
    pub(super) fn of(wire: Wire, body: &Value) -> Self {
        match wire {
            Wire::OpenAi | Wire::Anthropic => Self::of_messages(&body["messages"]),
            Wire::OpenAiResponses => Self::of_items(&body["input"]),
            Wire::Gemini => Self::of_contents(&body["contents"]),
        }
    }

    fn of_messages(messages: &Value) -> Self {
        let messages = list(messages);
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

    /// On the responses wire one response has several items.
    fn of_items(items: &Value) -> Self {
        let items = list(items);
        let is_call = |item: &&Value| item["type"] == "function_call";
        let mut seen = Self {
            calls: items.iter().filter(is_call).count(),
            messages: items.len(),
            ..Self::default()
        };
        let mut in_response = false;
        for item in items.iter().rev() {
            let is_output = is_call(&item) || item["role"] == "assistant";
            let is_reasoning = item["type"] == "reasoning";
            if is_output && !in_response {
                seen.turns += 1;
            }
            in_response = is_output || (is_reasoning && in_response);
            if item["role"] == "user" {
                let text = text_of(&item["content"]);
                if !text.starts_with(IMAGE_MIRROR) {
                    seen.directive = text.trim().to_owned();
                    break;
                }
            }
        }
        seen
    }

    fn of_contents(contents: &Value) -> Self {
        let contents = list(contents);
        let parts = |content: &Value, key: &str| {
            let parts = list(&content["parts"]).iter();
            parts.filter(|part| part.get(key).is_some()).count()
        };
        let calls = contents
            .iter()
            .map(|content| parts(content, "functionCall"));
        let mut seen = Self {
            calls: calls.sum(),
            messages: contents.len(),
            ..Self::default()
        };
        for content in contents.iter().rev() {
            if content["role"] == "model" {
                seen.turns += 1;
                continue;
            }
            let texts = list(&content["parts"]).iter();
            let text: String = texts.filter_map(|part| part["text"].as_str()).collect();
            if parts(content, "functionResponse") > 0 || text.starts_with(IMAGE_MIRROR) {
                continue;
            }
            seen.directive = text.trim().to_owned();
            break;
        }
        seen
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[][..], Vec::as_slice)
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
