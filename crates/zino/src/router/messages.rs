//! The messages of a request, as OpenAI writes them.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use zot_conversation::{ContentBlock, Message, Role, Timestamp};

use crate::service::Object;

/// Begins a system message that does not stand at the beginning: a conversation has one system
/// prompt, and what comes later may not get lost.
const SYSTEM_MARK: &str = "[system message]\n";

/// Follows the model's own words where a wire wants the user's last.
const CONTINUE: &str = "Continue.";

/// What a model is asked.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) system: String,
    messages: Vec<Arc<Message>>,
}

/// Who may have the last word of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Anyone,
    /// The model's words at the end would be refused, or taken for the beginning of the answer.
    UserOnly,
}

impl Conversation {
    /// The messages as a server takes them.
    pub(super) fn messages(&self, ending: Ending) -> Cow<'_, [Arc<Message>]> {
        let ends_with_model = self
            .messages
            .last()
            .is_some_and(|message| message.role == Role::Assistant);
        if ending == Ending::Anyone || !ends_with_model {
            return Cow::Borrowed(&self.messages);
        }
        let mut messages = self.messages.clone();
        messages.push(Arc::new(Message::user_text(CONTINUE, Timestamp::now())));
        Cow::Owned(messages)
    }
}

/// Reads the `messages` of a request. None at all are an empty conversation.
pub(super) fn read(messages: Option<Value>) -> Result<Conversation, String> {
    let messages = match messages {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(messages)) => messages,
        Some(_) => return Err("messages must be an array".to_owned()),
    };
    let time = Timestamp::now();
    let mut conversation = Conversation {
        system: String::new(),
        messages: Vec::with_capacity(messages.len()),
    };
    for (index, message) in messages.into_iter().enumerate() {
        let (speaker, text) =
            read_message(message).map_err(|error| format!("messages[{index}]: {error}"))?;
        let (role, text) = match speaker {
            Speaker::System if conversation.messages.is_empty() => {
                if !conversation.system.is_empty() {
                    conversation.system.push_str("\n\n");
                }
                conversation.system.push_str(&text);
                continue;
            }
            Speaker::System => (Role::User, format!("{SYSTEM_MARK}{text}")),
            Speaker::User => (Role::User, text),
            Speaker::Assistant => (Role::Assistant, text),
        };
        conversation.messages.push(Arc::new(Message {
            role,
            content: vec![ContentBlock::Text(text)],
            time,
        }));
    }
    Ok(conversation)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    System,
    User,
    Assistant,
}

fn read_message(message: Value) -> Result<(Speaker, String), String> {
    let Value::Object(mut message) = message else {
        return Err("must be an object".to_owned());
    };
    let speaker = match message.get("role").and_then(Value::as_str) {
        Some("system" | "developer") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        _ => return Err("role must be system, user or assistant".to_owned()),
    };
    let text = match message.remove("content") {
        Some(Value::String(text)) => text,
        Some(Value::Array(parts)) => joined(parts)?,
        // A model that only called tools said nothing.
        None | Some(Value::Null) if speaker == Speaker::Assistant => String::new(),
        _ => return Err("content must be a string or an array of text parts".to_owned()),
    };
    Ok((speaker, text))
}

fn joined(parts: Vec<Value>) -> Result<String, String> {
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        let part = part.as_object().ok_or_else(|| wrong_part(index))?;
        joined.push_str(part_text(part).ok_or_else(|| wrong_part(index))?);
    }
    Ok(joined)
}

fn part_text(part: &Object) -> Option<&str> {
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text") => part.get("text").and_then(Value::as_str),
        _ => None,
    }
}

fn wrong_part(index: usize) -> String {
    format!("content[{index}] must be a text part")
}
