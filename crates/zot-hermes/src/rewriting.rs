//! Keeps the rewritten messages of one call for the next.
//!
//! Model clients recognise messages they have already serialised by pointer identity, so the same
//! message has to become the same object every time.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use zot_conversation::{Message, ModelRequest, Role, ToolCall, ToolDefinition, Transcript};

use super::ids::CallIds;
use super::render;

/// The current conversation, and one side request such as a compaction.
///
/// Limit: older conversations are rewritten again.
const MAX_REWRITTEN_CONVERSATIONS: usize = 2;

/// A request in the form of the dialect.
pub(crate) struct Rewritten {
    pub(crate) system: Arc<str>,
    pub(crate) messages: Transcript,
}

/// The rewritten messages of the last conversations.
#[derive(Debug, Default)]
pub(crate) struct Rewriting {
    head: Option<Head>,
    /// Most recent first.
    conversations: VecDeque<Conversation>,
}

/// A system prompt with the tools in it, kept while both stay the same.
#[derive(Debug)]
struct Head {
    system: String,
    tools: Vec<Arc<ToolDefinition>>,
    rewritten: Arc<str>,
}

#[derive(Debug, Default)]
struct Conversation {
    /// Kept alive so that no address can be reused by another message.
    given: Vec<Arc<Message>>,
    /// One for each of `given`.
    rewritten: Transcript,
}

impl Rewriting {
    /// Rewrites `request`, and notes the ids of its calls.
    pub(crate) fn rewrite(&mut self, request: &ModelRequest<'_>, ids: &CallIds) -> Rewritten {
        Rewritten {
            system: self.system(request.system, request.tools),
            messages: self.messages(request.messages, ids),
        }
    }

    fn system(&mut self, system: &str, tools: &[Arc<ToolDefinition>]) -> Arc<str> {
        let known = self.head.as_ref().filter(|head| {
            head.system == system
                && head.tools.len() == tools.len()
                && head
                    .tools
                    .iter()
                    .zip(tools)
                    .all(|(kept, asked)| Arc::ptr_eq(kept, asked))
        });
        if let Some(head) = known {
            return Arc::clone(&head.rewritten);
        }
        let rewritten: Arc<str> = render::system(system, tools).into();
        // A side request has no tools, so there is nothing to keep.
        if !tools.is_empty() {
            self.head = Some(Head {
                system: system.to_owned(),
                tools: tools.to_vec(),
                rewritten: Arc::clone(&rewritten),
            });
        }
        rewritten
    }

    fn messages(&mut self, messages: &[Arc<Message>], ids: &CallIds) -> Transcript {
        let continued = self
            .conversations
            .iter()
            .enumerate()
            .filter(|(_, conversation)| conversation.continues_as(messages))
            .max_by_key(|(_, conversation)| conversation.given.len())
            .map(|(index, _)| index);
        let conversation = match continued.and_then(|index| self.conversations.remove(index)) {
            Some(mut conversation) => {
                for message in messages.iter().skip(conversation.given.len()) {
                    conversation.push(message, None, ids);
                }
                conversation
            }
            None => self.branch(messages, ids),
        };
        let rewritten = conversation.rewritten.clone();
        if !messages.is_empty() {
            self.conversations.push_front(conversation);
            self.conversations.truncate(MAX_REWRITTEN_CONVERSATIONS);
        }
        rewritten
    }

    /// Returns a conversation that may share messages with known ones, at any position.
    fn branch(&self, messages: &[Arc<Message>], ids: &CallIds) -> Conversation {
        let known: HashMap<*const Message, &Arc<Message>> = self
            .conversations
            .iter()
            .flat_map(|conversation| {
                let given = conversation.given.iter().map(Arc::as_ptr);
                given.zip(conversation.rewritten.messages())
            })
            .collect();
        let mut conversation = Conversation::default();
        for message in messages {
            let rewritten = known.get(&Arc::as_ptr(message)).copied();
            conversation.push(message, rewritten, ids);
        }
        conversation
    }
}

impl Conversation {
    /// Whether `messages` begin with those given before.
    fn continues_as(&self, messages: &[Arc<Message>]) -> bool {
        self.given.len() <= messages.len()
            && self
                .given
                .iter()
                .zip(messages)
                .all(|(kept, asked)| Arc::ptr_eq(kept, asked))
    }

    /// Adds a message, rewriting it unless that was done before.
    fn push(&mut self, message: &Arc<Message>, known: Option<&Arc<Message>>, ids: &CallIds) {
        let rewritten = known.cloned().or_else(|| {
            for call in message.tool_calls() {
                ids.note(&call.id);
            }
            render::message(message, &self.open_calls()).map(Arc::new)
        });
        self.rewritten
            .push(rewritten.unwrap_or_else(|| Arc::clone(message)));
        self.given.push(Arc::clone(message));
    }

    /// Returns the calls that a tool message at the end would answer.
    fn open_calls(&self) -> Vec<&ToolCall> {
        self.given
            .last()
            .filter(|message| message.role == Role::Assistant)
            .map(|message| message.tool_calls().collect())
            .unwrap_or_default()
    }
}
