//! Reads the messages of a request, which have OpenAI's form.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value};
use zot_conversation::{ContentBlock, Message, Role, Timestamp};
use zot_wire::zino::{self, Content};

/// Marks a system message in the middle of a conversation, which becomes a user message: there is only
/// one system prompt, and later ones must not get lost.
const SYSTEM_MARK: &str = "[system message]\n";

/// Follows the model's last message on wires that require a user message at the end.
const CONTINUE: &str = "Continue.";

/// How many conversations are recognised: the current one and that of a skill. Model clients keep as
/// many in serialised form.
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

/// A conversation, ready for a model.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversation {
    /// The messages it was read from: leading system messages, then one for each of `messages`.
    source: Vec<zino::Message>,
    pub(super) system: String,
    messages: Vec<Arc<Message>>,
}

/// Whose message may be the last of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Anyone,
    /// A model message at the end is rejected, or continued as the beginning of the response.
    UserOnly,
}

impl Conversation {
    /// The messages in the form a server accepts.
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
        Arc::make_mut(&mut conversation).update(messages)?;
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
    /// Becomes the conversation in `messages`, keeping the messages both begin with.
    fn update(&mut self, messages: Vec<zino::Message>) -> Result<(), String> {
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
            let (author, text) =
                read_message(&message).map_err(|error| format!("messages[{index}]: {error}"))?;
            self.push(author, text, time);
            self.source.push(message);
        }
        Ok(())
    }

    fn push(&mut self, author: Author, text: Cow<'_, str>, time: Timestamp) {
        let (role, text) = match author {
            Author::System if self.messages.is_empty() => {
                if !self.system.is_empty() {
                    self.system.push_str("\n\n");
                }
                self.system.push_str(&text);
                return;
            }
            Author::System => (Role::User, format!("{SYSTEM_MARK}{text}")),
            Author::User => (Role::User, text.into_owned()),
            Author::Assistant => (Role::Assistant, text.into_owned()),
        };
        self.messages.push(Arc::new(Message {
            role,
            content: vec![ContentBlock::Text(text)],
            time,
        }));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Author {
    System,
    User,
    Assistant,
}

fn read_message(message: &zino::Message) -> Result<(Author, Cow<'_, str>), String> {
    if !message.is_object() {
        return Err("must be an object".to_owned());
    }
    let author = match message.role() {
        Some("system" | "developer") => Author::System,
        Some("user") => Author::User,
        Some("assistant") => Author::Assistant,
        _ => return Err("role must be system, user or assistant".to_owned()),
    };
    let text = match message.content() {
        Content::Text(text) => Cow::Borrowed(text),
        Content::Parts(parts) => Cow::Owned(joined(parts)?),
        // A model that only called tools has no text.
        Content::Nothing if author == Author::Assistant => Cow::Borrowed(""),
        _ => return Err("content must be a string or an array of text parts".to_owned()),
    };
    Ok((author, text))
}

fn joined(parts: &[Value]) -> Result<String, String> {
    let mut joined = String::new();
    for (index, part) in parts.iter().enumerate() {
        let part = part.as_object().ok_or_else(|| invalid_part(index))?;
        joined.push_str(part_text(part).ok_or_else(|| invalid_part(index))?);
    }
    Ok(joined)
}

fn part_text(part: &Map<String, Value>) -> Option<&str> {
    match part.get("type").and_then(Value::as_str) {
        Some("text" | "input_text") => part.get("text").and_then(Value::as_str),
        _ => None,
    }
}

fn invalid_part(index: usize) -> String {
    format!("content[{index}] must be a text part")
}
