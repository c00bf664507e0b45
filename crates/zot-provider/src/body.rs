//! Request bodies made of pieces, and the cache of the pieces that have not changed.
//!
//! A transcript only grows, so what was serialised for one call is kept for the next, recognised by
//! the identity of its messages. Small pieces are merged geometrically: a call copies little, and a
//! body stays a short list.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use zot_conversation::{Message, ToolDefinition};

use crate::declaration::Naming;
use crate::json;

/// Pieces this large are not merged, which bounds what one call may copy.
///
/// Limit: pieces of a serialised conversation are merged no further.
const MAX_MERGED_BYTES: usize = 256 * 1024;

/// The conversation at hand, and one side question such as a compaction.
///
/// Limit: older conversations are serialised again.
const MAX_SERIALISED_CONVERSATIONS: usize = 2;

/// A request body of known length that is cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct RequestBody {
    pieces: Vec<Bytes>,
    length: usize,
}

/// Whether the list of messages has an item before they are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum List {
    Empty,
    /// It starts with an item of the wire, such as the system prompt.
    Started,
}

impl RequestBody {
    pub(crate) fn push(&mut self, piece: impl Into<Bytes>) {
        let piece = piece.into();
        if !piece.is_empty() {
            self.length += piece.len();
            self.pieces.push(piece);
        }
    }

    /// Begins the JSON object of the request with `options`, and leaves it open for what follows.
    pub(crate) fn begin(&mut self, options: &impl Serialize) {
        let mut object = Vec::new();
        json::append(&mut object, options);
        object.pop();
        self.push(object);
    }

    /// Adds the items of a list, then closes the list and the object. Every item begins with a
    /// comma; it is removed from the first one.
    pub(crate) fn finish(&mut self, list: List, items: impl Iterator<Item = Bytes>) {
        let mut is_first = list == List::Empty;
        for item in items {
            let skip = usize::from(is_first && !item.is_empty());
            is_first &= item.is_empty();
            self.push(item.slice(skip..));
        }
        self.push(&b"]}"[..]);
    }

    pub(crate) fn pieces(&self) -> &[Bytes] {
        &self.pieces
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    #[cfg(test)]
    pub(crate) fn to_vec(&self) -> Vec<u8> {
        self.pieces.iter().flatten().copied().collect()
    }
}

/// Serialised system prompt and tools, kept while both stay the same.
#[derive(Debug, Default)]
pub(crate) struct HeadCache {
    system: String,
    tools: Vec<Arc<ToolDefinition>>,
    bytes: Bytes,
}

impl HeadCache {
    pub(crate) fn get(
        &mut self,
        system: &str,
        tools: &[Arc<ToolDefinition>],
        serialise: impl FnOnce(&mut Vec<u8>),
    ) -> Bytes {
        let same_tools = self.tools.len() == tools.len()
            && self
                .tools
                .iter()
                .zip(tools)
                .all(|(kept, asked)| Arc::ptr_eq(kept, asked));
        if self.bytes.is_empty() || !same_tools || self.system != system {
            let mut bytes = Vec::new();
            serialise(&mut bytes);
            self.bytes = bytes.into();
            system.clone_into(&mut self.system);
            self.tools = tools.to_vec();
        }
        self.bytes.clone()
    }
}

/// The serialised messages of the last conversations, most recent first.
#[derive(Debug, Default)]
pub(crate) struct MessageCache {
    conversations: VecDeque<Conversation>,
    /// The names of tools in the cached messages.
    naming: Option<Arc<Naming>>,
}

impl MessageCache {
    /// Drops what was serialised with other tool names.
    pub(crate) fn write_for(&mut self, naming: &Arc<Naming>) {
        let same = self
            .naming
            .as_ref()
            .is_some_and(|known| Arc::ptr_eq(known, naming));
        if !same {
            self.conversations.clear();
            self.naming = Some(Arc::clone(naming));
        }
    }

    /// Returns the pieces for `messages`, serialising only those that are new. `serialise` appends
    /// one message with a comma before each object it writes; it may write nothing.
    pub(crate) fn get(
        &mut self,
        messages: &[Arc<Message>],
        mut serialise: impl FnMut(&Message, &mut Vec<u8>),
    ) -> std::vec::IntoIter<Bytes> {
        self.get_written(0, messages, |_, message, buffer| serialise(message, buffer))
    }

    /// Does the same for messages whose form depends on those before them. `variant` changes
    /// whenever that form may; `serialise` also gets the index of the message.
    pub(crate) fn get_written(
        &mut self,
        variant: u64,
        messages: &[Arc<Message>],
        serialise: impl FnMut(usize, &Message, &mut Vec<u8>),
    ) -> std::vec::IntoIter<Bytes> {
        let known = self.conversations.iter().position(|conversation| {
            match (conversation.messages.first(), messages.first()) {
                (Some(kept), Some(asked)) => {
                    conversation.variant == variant && Arc::ptr_eq(&kept.message, asked)
                }
                _ => false,
            }
        });
        let mut conversation = known
            .and_then(|index| self.conversations.remove(index))
            .unwrap_or_else(|| Conversation {
                variant,
                ..Conversation::default()
            });
        conversation.update(messages, serialise);
        let pieces: Vec<Bytes> = conversation
            .pieces
            .iter()
            .map(|piece| piece.bytes.clone())
            .collect();
        if !messages.is_empty() {
            self.conversations.push_front(conversation);
            self.conversations.truncate(MAX_SERIALISED_CONVERSATIONS);
        }
        pieces.into_iter()
    }
}

#[derive(Debug, Default)]
struct Conversation {
    /// The variant in which its messages are written.
    variant: u64,
    messages: Vec<CachedMessage>,
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct CachedMessage {
    /// Held so that the address cannot be reused by another message.
    message: Arc<Message>,
    length: usize,
}

#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    messages: usize,
}

impl Conversation {
    fn update(
        &mut self,
        messages: &[Arc<Message>],
        mut serialise: impl FnMut(usize, &Message, &mut Vec<u8>),
    ) {
        let same = self
            .messages
            .iter()
            .zip(messages)
            .take_while(|(kept, asked)| Arc::ptr_eq(&kept.message, asked))
            .count();
        self.truncate(same);
        let new = messages.get(same..).unwrap_or_default();
        let mut bytes = Vec::new();
        let mut count = 0;
        for (index, message) in new.iter().enumerate() {
            let start = bytes.len();
            serialise(same + index, message, &mut bytes);
            count += 1;
            self.messages.push(CachedMessage {
                message: Arc::clone(message),
                length: bytes.len() - start,
            });
            if bytes.len() >= MAX_MERGED_BYTES {
                self.push_piece(std::mem::take(&mut bytes), std::mem::take(&mut count));
            }
        }
        if count > 0 {
            self.push_piece(bytes, count);
        }
    }

    fn push_piece(&mut self, bytes: Vec<u8>, messages: usize) {
        // Merging while the neighbour is at most twice as long leaves lengths that halve from
        // piece to piece, so their number grows with the logarithm of the whole.
        let mut merged_length = bytes.len();
        let mut first = self.pieces.len();
        while let Some(piece) = first
            .checked_sub(1)
            .and_then(|index| self.pieces.get(index))
        {
            let together = merged_length + piece.bytes.len();
            if piece.bytes.len() > 2 * merged_length || together > MAX_MERGED_BYTES {
                break;
            }
            merged_length = together;
            first -= 1;
        }
        if first == self.pieces.len() {
            self.pieces.push(Piece {
                bytes: bytes.into(),
                messages,
            });
            return;
        }
        let mut merged = Vec::with_capacity(merged_length);
        let mut merged_messages = messages;
        for piece in self.pieces.drain(first..) {
            merged.extend_from_slice(&piece.bytes);
            merged_messages += piece.messages;
        }
        merged.extend_from_slice(&bytes);
        self.pieces.push(Piece {
            bytes: merged.into(),
            messages: merged_messages,
        });
    }

    /// Removes the messages from `keep` on, and shortens the piece that contains the cut.
    fn truncate(&mut self, keep: usize) {
        let mut count = self.messages.len();
        while count > keep {
            let Some(piece) = self.pieces.last_mut() else {
                break;
            };
            let start = count - piece.messages;
            if start >= keep {
                self.pieces.pop();
                count = start;
                continue;
            }
            let length = self
                .messages
                .get(start..keep)
                .unwrap_or_default()
                .iter()
                .map(|message| message.length)
                .sum();
            piece.bytes.truncate(length);
            piece.messages = keep - start;
            count = keep;
        }
        self.messages.truncate(keep);
    }
}

#[cfg(test)]
mod tests;
