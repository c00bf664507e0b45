//! What is stored, read back. Everything is served, and Python writes some values that are not JSON.

use serde_json::{Value, json};
use zot_wire::zino::memory::{ExportedItem, FoundMemory};
use zot_wire::zino::{Message, Messages};

use super::index::Index;

/// How many messages or memories are transferred together.
///
/// Limit: the next messages or memories come in another item of an export or step of an import.
pub(super) const TRANSFER_BATCH: usize = 100;

/// A memory to store.
pub(super) struct NewMemory {
    pub(super) messages: Vec<Message>,
    pub(super) tag: String,
}

/// Parses a message.
pub(super) fn message(bytes: &[u8]) -> Message {
    serde_json::from_slice(bytes).unwrap_or_else(|_| Value::Null.into())
}

/// Parses an entry of the hard memories.
pub(super) fn memory(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_default()
}

/// Adds an entry of the hard memories, whatever its form, to the index.
pub(super) fn add_to_index(index: &mut Index, bytes: &[u8]) {
    let memory = memory(bytes);
    let messages = memory.get("messages").and_then(Value::as_array);
    let contents = messages
        .into_iter()
        .flatten()
        .filter_map(|message| message.get("content").and_then(Value::as_str));
    let tag = memory.get("tag").and_then(Value::as_str).unwrap_or("");
    index.add(&searched_texts(contents, tag));
}

/// The texts of a memory that are searched: its messages and its tag.
pub(super) fn searched_texts<'a>(
    contents: impl Iterator<Item = &'a str>,
    tag: &'a str,
) -> Vec<&'a str> {
    contents.chain([tag]).collect()
}

pub(super) fn found_memory(mut memory: Value, score: f64) -> FoundMemory {
    FoundMemory {
        messages: taken_messages(&mut memory),
        score,
    }
}

pub(super) fn exported_memory(id: usize, mut memory: Value) -> ExportedItem {
    ExportedItem::Hard {
        id,
        messages: taken_messages(&mut memory),
        tag: memory.get_mut("tag").map_or_else(|| json!(""), Value::take),
    }
}

fn taken_messages(memory: &mut Value) -> Messages {
    let messages = memory.get_mut("messages").map(Value::take);
    messages.map_or_else(Messages::default, Messages::from)
}
