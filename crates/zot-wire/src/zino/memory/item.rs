//! The items of an export or import of `mem`.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::{required_channel, stored_messages, write_fields};
use crate::zino::{Frame, Message, Messages, RequestError};

/// An item of an import.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportedItem {
    History {
        channel_id: String,
        messages: Vec<Message>,
    },
    Hard {
        messages: Vec<Message>,
        tag: String,
    },
    Soft {
        content: String,
    },
}

/// An item of an export. Files are exported unchanged: `messages` and `tag` of a hard memory that another
/// program wrote may be anything.
#[derive(Debug, Clone, PartialEq)]
pub enum ExportedItem {
    History {
        channel_id: String,
        messages: Vec<Message>,
    },
    Hard {
        id: usize,
        messages: Messages,
        tag: Value,
    },
    Soft {
        content: String,
    },
}

/// Decodes all items; the error names the first invalid one.
pub(super) fn read_all(items: Option<Value>) -> Result<Vec<ImportedItem>, RequestError> {
    let Some(Value::Array(items)) = items else {
        return Err(RequestError::wrong("items", "a list"));
    };
    let with_index = |(index, item)| {
        read(item).map_err(|source| RequestError::Item {
            index,
            source: Box::new(source),
        })
    };
    items.into_iter().enumerate().map(with_index).collect()
}

fn read(item: Value) -> Result<ImportedItem, RequestError> {
    let Value::Object(fields) = item else {
        return Err(RequestError::wrong("an item", "an object"));
    };
    let mut frame = Frame::from(fields);
    match frame.text("kind") {
        Some("history") => Ok(ImportedItem::History {
            channel_id: required_channel(&frame)?,
            messages: stored_messages(&mut frame)?,
        }),
        Some("hard") => Ok(ImportedItem::Hard {
            messages: stored_messages(&mut frame)?,
            tag: frame.string_or_empty("tag")?,
        }),
        Some("soft") => Ok(ImportedItem::Soft {
            content: frame.string_or_empty("content")?,
        }),
        _ => Err(RequestError::wrong("kind", "history, hard or soft")),
    }
}

impl Serialize for ImportedItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::History {
                channel_id,
                messages,
            } => write_fields!(
                serializer, "channel_id": channel_id, "kind": "history", "messages": messages,
            ),
            Self::Hard { messages, tag } => {
                write_fields!(serializer, "kind": "hard", "messages": messages, "tag": tag)
            }
            Self::Soft { content } => {
                write_fields!(serializer, "content": content, "kind": "soft")
            }
        }
    }
}

impl Serialize for ExportedItem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::History {
                channel_id,
                messages,
            } => write_fields!(
                serializer,
                "channel_id": channel_id,
                "kind": "history",
                "messages": messages,
                "type": "item",
            ),
            Self::Hard { id, messages, tag } => write_fields!(
                serializer,
                "id": id,
                "kind": "hard",
                "messages": messages,
                "tag": tag,
                "type": "item",
            ),
            Self::Soft { content } => {
                write_fields!(serializer, "content": content, "kind": "soft", "type": "item")
            }
        }
    }
}
