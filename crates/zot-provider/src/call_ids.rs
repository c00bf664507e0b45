//! Ids of tool calls in the form each wire accepts.
//!
//! A conversation may hold calls of other providers, whose ids have other forms. An id that the
//! wire accepts is sent unchanged, so a provider gets its own ids back; any other is replaced by
//! one derived from it, the same for a call and its result and in every request.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use zot_conversation::{ContentBlock, Message};

/// Which ids a wire accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// `^[a-zA-Z0-9_-]+$`, in the words of Anthropic's refusal ("tool_use.id: String should match
    /// pattern"). It names no maximum length; services that forward requests accept 64.
    Anthropic,
    /// "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a string with maximum
    /// length 40".
    OpenAiChat,
    /// "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64".
    OpenAiResponses,
    /// "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9".
    Mistral,
}

/// The model families that follow Mistral's rule, wherever they are served.
const MISTRAL_FAMILIES: [&str; 8] = [
    "mistral",
    "mixtral",
    "ministral",
    "magistral",
    "codestral",
    "devstral",
    "pixtral",
    "voxtral",
];

impl IdRule {
    /// Returns the rule of a chat completions endpoint for `model`.
    pub(crate) fn of_chat_model(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        let name = model.rsplit('/').next().unwrap_or_default();
        match MISTRAL_FAMILIES
            .iter()
            .any(|family| name.starts_with(family))
        {
            true => Self::Mistral,
            false => Self::OpenAiChat,
        }
    }

    fn accepts(self, id: &str) -> bool {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
        match self {
            Self::Anthropic => (1..=64).contains(&id.len()) && id.bytes().all(plain),
            // Some servers make ids with colons and dots, and want them back.
            Self::OpenAiChat => (1..=40).contains(&id.chars().count()),
            Self::OpenAiResponses => (1..=64).contains(&id.chars().count()),
            Self::Mistral => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        }
    }

    /// Returns the id that replaces `id`: a part of its hash, long enough that two calls do not get
    /// the same one.
    fn replaced(self, id: &str) -> String {
        const LETTERS: &[u8; 62] =
            b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        let digest = Sha256::digest(id.as_bytes());
        let (prefix, length) = match self {
            Self::Mistral => ("", 9),
            _ => ("call_", 24),
        };
        let letters = digest.iter().take(length);
        let letters = letters.filter_map(|byte| LETTERS.get(usize::from(*byte) % LETTERS.len()));
        let mut replaced = String::from(prefix);
        replaced.extend(letters.map(|&letter| char::from(letter)));
        replaced
    }

    fn adapted(self, id: &str) -> Cow<'_, str> {
        match self.accepts(id) {
            true => Cow::Borrowed(id),
            false => Cow::Owned(self.replaced(id)),
        }
    }
}

/// The ids of one conversation.
///
/// Some servers restart the numbering of calls with each response. Within a conversation, a later
/// call with the same id and its result get another one, because Anthropic refuses repeated ids
/// ("`tool_use` ids must be unique").
pub(crate) struct CallIds {
    rule: IdRule,
    /// How many earlier calls have the same id, for blocks of all but the first such call. Keyed by
    /// the message's address and the block's position.
    repeated: HashMap<(*const Message, usize), u32>,
}

impl CallIds {
    pub(crate) fn new(rule: IdRule, messages: &[Arc<Message>]) -> Self {
        let mut seen: HashMap<&str, u32> = HashMap::new();
        let mut repeated = HashMap::new();
        // The calls whose results come next, each with its number among the calls of the same id.
        let mut open: Vec<(&str, u32)> = Vec::new();
        for message in messages {
            if message.tool_calls().next().is_some() {
                open.clear();
            }
            for (position, block) in message.content.iter().enumerate() {
                let number = match block {
                    ContentBlock::ToolCall(call) => {
                        let count = seen.entry(call.id.as_str()).or_default();
                        let number = *count;
                        *count += 1;
                        open.push((call.id.as_str(), number));
                        number
                    }
                    ContentBlock::ToolResult(result) => {
                        let id = result.call_id.as_str();
                        match open.iter().position(|(open, _)| *open == id) {
                            Some(found) => open.remove(found).1,
                            None => 0,
                        }
                    }
                    _ => 0,
                };
                if number > 0 {
                    repeated.insert((Arc::as_ptr(message), position), number);
                }
            }
        }
        Self { rule, repeated }
    }

    /// Returns the wire's id for the block at `position` of `message`, whose id in the conversation
    /// is `id`.
    pub(crate) fn wire<'a>(&self, message: &Message, position: usize, id: &'a str) -> Cow<'a, str> {
        let repetition = match self.repeated.is_empty() {
            true => None,
            false => self.repeated.get(&(std::ptr::from_ref(message), position)),
        };
        match repetition {
            None => self.rule.adapted(id),
            Some(number) => Cow::Owned(self.rule.replaced(&format!("{id} {number}"))),
        }
    }
}

#[cfg(test)]
mod tests;
