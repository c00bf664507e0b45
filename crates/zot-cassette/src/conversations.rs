//! The conversations of a cassette that the next exchange may continue.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

/// The current conversation, and one side request such as a compaction.
///
/// Limit: older conversations are serialised again.
const MAX_RECORDED_CONVERSATIONS: usize = 2;

/// What an exchange shares with an earlier one: its first messages, and the system prompt and tools
/// unless it has its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Continues {
    pub(super) exchange: usize,
    pub(super) messages: usize,
}

/// The request of one exchange.
#[derive(Debug)]
pub(super) struct Conversation<H, M> {
    pub(super) exchange: usize,
    /// System prompt and tools.
    pub(super) head: H,
    pub(super) messages: Vec<M>,
}

/// The last requests of the latest conversations, most recent first.
#[derive(Debug)]
pub(super) struct Conversations<H, M>(VecDeque<Conversation<H, M>>);

impl<H, M> Default for Conversations<H, M> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<H, M> Conversations<H, M> {
    /// Removes and returns the conversation whose first message satisfies `is_first`.
    pub(super) fn take_beginning(
        &mut self,
        is_first: impl Fn(&M) -> bool,
    ) -> Option<Conversation<H, M>> {
        let known = |kept: &Conversation<H, M>| kept.messages.first().is_some_and(&is_first);
        let index = self.0.iter().position(known)?;
        self.0.remove(index)
    }

    /// Removes and returns the conversation whose latest exchange has this number.
    pub(super) fn take(&mut self, exchange: usize) -> Option<Conversation<H, M>> {
        let index = self.0.iter().position(|kept| kept.exchange == exchange)?;
        self.0.remove(index)
    }

    pub(super) fn put(&mut self, conversation: Conversation<H, M>) {
        self.0.push_front(conversation);
        self.0.truncate(MAX_RECORDED_CONVERSATIONS);
    }
}
