//! Reads the messages of a request, which have OpenAI's form.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use zot_conversation::{ContentBlock, Message, Role, Timestamp};
use zot_wire::zino::{self, Content};

/// Marks a system message in the middle of a conversation, which becomes a user's: there is only one
/// system prompt, and later ones must not get lost.
const SYSTEM_MARK: &str = "[system message]\n";

/// Follows the model's last message on wires where the user's must come last.
const CONTINUE: &str = "Continue.";

/// How many conversations are recognised: the current one, and one of a skill beside it. As many as
/// model clients keep in serialised form.
///
/// Limit: the least recently used conversation is read again when it returns.
const MAX_RECENT_CONVERSATIONS: usize = 2;

/// The most recent conversations.
///
/// Every iteration of the loop sends the conversation again, longer by one message. Messages that are
/// the same as before, by pointer or, over a socket, by value, are not read again: they become the
/// same messages as before, which model clients recognise by pointer.
#[derive(Debug, Default)]
pub(super) struct RecentConversations(Mutex<VecDeque<Arc<Conversation>>>);

/// What a model is asked.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    /// What it was read from: system messages at the beginning, then one for each of `messages`.
    source: Vec<zino::Message>,
    pub(super) system: String,
    messages: Vec<Arc<Message>>,
}

/// Whose message may be the last of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Anyone,
    /// A message of the model at the end is refused, or continued as the beginning of the response.
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

impl RecentConversations {
    /// Reads the messages of a request.
    pub(super) fn read(&self, messages: Vec<zino::Message>) -> Result<Arc<Conversation>, String> {
        let mut conversation = self.take_similar(&messages);
        Arc::make_mut(&mut conversation).follow(messages)?;
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        recent.push_front(Arc::clone(&conversation));
        recent.truncate(MAX_RECENT_CONVERSATIONS);
        Ok(conversation)
    }

    /// Takes out the conversation that begins with the same message, if there is one.
    fn take_similar(&self, messages: &[zino::Message]) -> Arc<Conversation> {
        let mut recent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_similar = |known: &Arc<Conversation>| {
            !known.source.is_empty() && known.source.first() == messages.first()
        };
        let position = recent.iter().position(is_similar);
        position
            .and_then(|position| recent.remove(position))
            .unwrap_or_default()
    }
}

impl Conversation {
    /// Becomes the conversation in `messages`, keeping what is the same.
    fn follow(&mut self, messages: Vec<zino::Message>) -> Result<(), String> {
        let known = self.source.iter().zip(&messages);
        let same = known.take_while(|(kept, asked)| kept == asked).count();
        let system_messages = self.source.len() - self.messages.len();
        match same.checked_sub(system_messages) {
            Some(same_messages) => self.messages.truncate(same_messages),
            None => *self = Self::default(),
        }
        let known = self.source.len().min(same);
        self.source.truncate(known);
        let time = Timestamp::now();
        for (index, message) in messages.into_iter().enumerate().skip(known) {
            let (speaker, text) =
                read_message(&message).map_err(|error| format!("messages[{index}]: {error}"))?;
            self.push(speaker, text, time);
            self.source.push(message);
        }
        Ok(())
    }

    fn push(&mut self, speaker: Speaker, text: Cow<'_, str>, time: Timestamp) {
        let (role, text) = match speaker {
            Speaker::System if self.messages.is_empty() => {
                if !self.system.is_empty() {
                    self.system.push_str("\n\n");
                }
                self.system.push_str(&text);
                return;
            }
            Speaker::System => (Role::User, format!("{SYSTEM_MARK}{text}")),
            Speaker::User => (Role::User, text.into_owned()),
            Speaker::Assistant => (Role::Assistant, text.into_owned()),
        };
        self.messages.push(Arc::new(Message {
            role,
            content: vec![ContentBlock::Text(text)],
            time,
        }));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    System,
    User,
    Assistant,
}

fn read_message(message: &zino::Message) -> Result<(Speaker, Cow<'_, str>), String> {
    if !message.is_object() {
        return Err("must be an object".to_owned());
    }
    let speaker = match message.role() {
        Some("system" | "developer") => Speaker::System,
        Some("user") => Speaker::User,
        Some("assistant") => Speaker::Assistant,
        _ => return Err("role must be system, user or assistant".to_owned()),
    };
    let text = match message.content() {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Parts(parts) => Cow::Owned(joined(parts)?),
        // A model that only called tools has no text.
        Content::Nothing if speaker == Speaker::Assistant => Cow::Borrowed(""),
        _ => return Err("content must be a string or an array of text parts".to_owned()),
    };
    Ok((speaker, text))
}

fn joined(parts: &[Value]) -> Result<String, String> {
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        let part = part.as_object().ok_or_else(|| wrong_part(index))?;
        joined.push_str(part_text(part).ok_or_else(|| wrong_part(index))?);
    }
    Ok(joined)
}

fn part_text(part: &Map<String, Value>) -> Option<&str> {
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text") => part.get("text").and_then(Value::as_str),
        _ => None,
    }
}

fn wrong_part(index: usize) -> String {
    format!("content[{index}] must be a text part")
}
