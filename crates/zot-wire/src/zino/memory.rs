//! `mem`: histories of channels, hard memories that are searched, and one soft memory.

mod item;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::claims::{self, Claim};
use super::lenient::Plain;
use super::response::{failure_variant, write_fields};
use super::{Failure, Frame, Message, Messages, RequestError};

pub use item::{ExportedItem, ImportedItem};

#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    GetHistory {
        channel_id: String,
        /// How many of the last messages; all when it is absent, zero or negative.
        limit: Option<i64>,
    },
    AppendHistory {
        channel_id: String,
        messages: Vec<Message>,
        /// Ours: names the append, so that a repeated request is stored once.
        call: Option<String>,
        /// Ours: the hold that the writer has on the channel.
        hold: Option<Hold>,
    },
    /// Ours: makes `owner` the only writer of the channel until the caller hangs up. With a fence, continues
    /// a hold that another `mem` has granted.
    HoldChannel {
        channel_id: String,
        owner: String,
        fence: Option<i64>,
    },
    ClearHistory {
        channel_id: String,
    },
    ListChannels,
    SearchHard {
        query: String,
        /// How many of the best; a negative number leaves out that many of the worst.
        top_k: Option<i64>,
    },
    StoreHard {
        messages: Vec<Message>,
        tag: String,
        /// As in [`Self::AppendHistory`].
        call: Option<String>,
    },
    DeleteHard {
        id: u64,
    },
    GetSoft,
    SetSoft {
        content: String,
    },
    Export,
    Import {
        items: Vec<ImportedItem>,
    },
    /// Ours: claims on the running of code.
    Claim(claims::Request),
}

/// The right to write to a channel: every new owner gets a higher fence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hold {
    pub owner: String,
    pub fence: i64,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Done,
    /// Ours: the number of the append that `call` names, counted from 1 within its channel.
    Appended {
        sequence: i64,
    },
    /// Ours: the channel is held until the caller hangs up. Without a fence the store needs none: its
    /// writers lock.
    Held {
        fence: Option<i64>,
    },
    History {
        messages: Vec<Message>,
    },
    Channels {
        channels: Vec<ChannelEntry>,
    },
    HardMemories {
        results: Vec<FoundMemory>,
    },
    Stored {
        id: u64,
    },
    SoftMemory {
        content: String,
    },
    Item(ExportedItem),
    /// The end of an export.
    Exported {
        items: u64,
    },
    /// How far an import is.
    Progress {
        done: usize,
        total: usize,
    },
    Imported {
        items: usize,
    },
    Claim(Claim),
    Error(Failure),
    Other(Value),
}

/// A channel as it is listed; its fields are written in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChannelEntry {
    pub bytes: u64,
    pub channel_id: String,
}

/// A memory that was found; its fields are written in this order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FoundMemory {
    pub messages: Messages,
    pub score: f64,
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "mem";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        let Some(name) = frame.type_name() else {
            return Err(frame.unknown_type());
        };
        Ok(match name {
            "get_history" => Self::GetHistory {
                channel_id: required_channel(&frame)?,
                limit: frame.integer("limit")?,
            },
            "append_history" => Self::AppendHistory {
                channel_id: required_channel(&frame)?,
                call: call(&frame)?,
                hold: hold(&frame)?,
                messages: stored_messages(&mut frame)?,
            },
            "hold_channel" => Self::HoldChannel {
                channel_id: required_channel(&frame)?,
                owner: required_name(&frame, "owner")?,
                fence: frame.integer("fence")?,
            },
            "clear_history" => Self::ClearHistory {
                channel_id: required_channel(&frame)?,
            },
            "list_channels" => Self::ListChannels,
            "search_hard" => Self::SearchHard {
                query: frame.string_or_empty("query")?,
                top_k: frame.integer("top_k")?,
            },
            "store_hard" => Self::StoreHard {
                tag: tag(&mut frame)?,
                call: call(&frame)?,
                messages: stored_messages(&mut frame)?,
            },
            "delete_hard" => Self::DeleteHard {
                id: frame
                    .integer("id")?
                    .and_then(|id| u64::try_from(id).ok())
                    .ok_or(RequestError::wrong("id", "a whole number"))?,
            },
            "get_soft" => Self::GetSoft,
            "set_soft" => Self::SetSoft {
                content: frame.string_or_empty("content")?,
            },
            "export" => Self::Export,
            "import" => Self::Import {
                items: item::read_all(frame.take("items"))?,
            },
            name if claims::Request::is_named(name) => Self::Claim(super::Request::read(frame)?),
            _ => return Err(frame.unknown_type()),
        })
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::GetHistory { .. } => "get_history",
            Self::AppendHistory { .. } => "append_history",
            Self::HoldChannel { .. } => "hold_channel",
            Self::ClearHistory { .. } => "clear_history",
            Self::ListChannels => "list_channels",
            Self::SearchHard { .. } => "search_hard",
            Self::StoreHard { .. } => "store_hard",
            Self::DeleteHard { .. } => "delete_hard",
            Self::GetSoft => "get_soft",
            Self::SetSoft { .. } => "set_soft",
            Self::Export => "export",
            Self::Import { .. } => "import",
            Self::Claim(request) => super::Request::type_name(request),
        }
    }

    fn channel_id(&self) -> Option<&str> {
        match self {
            Self::GetHistory { channel_id, .. }
            | Self::AppendHistory { channel_id, .. }
            | Self::HoldChannel { channel_id, .. }
            | Self::ClearHistory { channel_id } => Some(channel_id),
            _ => None,
        }
    }

    fn call_name(&self) -> Option<&str> {
        match self {
            Self::AppendHistory { call, .. } | Self::StoreHard { call, .. } => call.as_deref(),
            _ => None,
        }
    }
}

/// The longest `call` and `owner`, in bytes.
///
/// Limit: a longer `call` or `owner` is refused.
const MAX_CALL_NAME_BYTES: usize = 200;

pub(super) const CALL_NAME: &str = "a string of 1 to 200 bytes";

fn short_text(frame: &Frame, field: &'static str) -> Result<Option<String>, RequestError> {
    match frame.field(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(name)) if (1..=MAX_CALL_NAME_BYTES).contains(&name.len()) => {
            Ok(Some(name.clone()))
        }
        Some(_) => Err(RequestError::wrong(field, CALL_NAME)),
    }
}

pub(super) fn required_name(frame: &Frame, field: &'static str) -> Result<String, RequestError> {
    short_text(frame, field)?.ok_or(RequestError::wrong(field, CALL_NAME))
}

/// Decodes the name of a call.
pub(super) fn call(frame: &Frame) -> Result<Option<String>, RequestError> {
    short_text(frame, "call")
}

fn hold(frame: &Frame) -> Result<Option<Hold>, RequestError> {
    match (short_text(frame, "owner")?, frame.integer("fence")?) {
        (Some(owner), Some(fence)) => Ok(Some(Hold { owner, fence })),
        (None, None) => Ok(None),
        (Some(_), None) => Err(RequestError::wrong("fence", "given with owner")),
        (None, Some(_)) => Err(RequestError::wrong("owner", "given with fence")),
    }
}

fn required_channel(frame: &Frame) -> Result<String, RequestError> {
    match frame.field("channel_id") {
        None => Err(RequestError::NoChannel),
        Some(value) if !Plain::from(value).is_true() => Err(RequestError::NoChannel),
        Some(Value::String(channel)) => Ok(channel.clone()),
        Some(_) => Err(RequestError::wrong("channel_id", "a string")),
    }
}

/// The original stores a tag of any type, and one that is not a string breaks every later search. A
/// number is stored as its text; a falsy value means no tag.
fn tag(frame: &mut Frame) -> Result<String, RequestError> {
    match frame.field("tag") {
        Some(number @ Value::Number(_)) if Plain::from(number).is_true() => Ok(number.to_string()),
        Some(value) if !Plain::from(value).is_true() => Ok(String::new()),
        _ => frame.string_or_empty("tag"),
    }
}

/// Decodes messages to store: each needs a role and a content that are strings.
fn stored_messages(frame: &mut Frame) -> Result<Vec<Message>, RequestError> {
    let messages = frame.message_list("a list")?;
    for (index, message) in messages.iter().enumerate() {
        if !message.is_object() {
            return Err(RequestError::NotAMessage(index));
        }
        for (field, is_string) in [
            ("role", message.role().is_some()),
            ("content", message.text().is_some()),
        ] {
            if !is_string {
                return Err(RequestError::MessageField { index, field });
            }
        }
    }
    Ok(messages)
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = super::Request::type_name(self);
        match self {
            Self::GetHistory { channel_id, limit } => write_fields!(
                serializer, "channel_id": channel_id, "limit": limit, "type": name,
            ),
            Self::AppendHistory {
                channel_id,
                messages,
                call,
                hold,
            } => {
                use serde::ser::SerializeMap as _;
                let mut map = serializer.serialize_map(None)?;
                if let Some(call) = call {
                    map.serialize_entry("call", call)?;
                }
                map.serialize_entry("channel_id", channel_id)?;
                if let Some(hold) = hold {
                    map.serialize_entry("fence", &hold.fence)?;
                    map.serialize_entry("owner", &hold.owner)?;
                }
                map.serialize_entry("messages", messages)?;
                map.serialize_entry("type", name)?;
                map.end()
            }
            Self::HoldChannel {
                channel_id,
                owner,
                fence,
            } => write_fields!(
                serializer,
                "channel_id": channel_id, "fence": fence, "owner": owner, "type": name,
            ),
            Self::ClearHistory { channel_id } => {
                write_fields!(serializer, "channel_id": channel_id, "type": name)
            }
            Self::SearchHard { query, top_k } => {
                write_fields!(serializer, "query": query, "top_k": top_k, "type": name)
            }
            Self::StoreHard {
                messages,
                tag,
                call: None,
            } => write_fields!(serializer, "messages": messages, "tag": tag, "type": name),
            Self::StoreHard {
                messages,
                tag,
                call,
            } => write_fields!(
                serializer, "call": call, "messages": messages, "tag": tag, "type": name,
            ),
            Self::DeleteHard { id } => write_fields!(serializer, "id": id, "type": name),
            Self::SetSoft { content } => {
                write_fields!(serializer, "content": content, "type": name)
            }
            Self::Import { items } => write_fields!(serializer, "items": items, "type": name),
            Self::Claim(request) => request.serialize(serializer),
            Self::ListChannels | Self::GetSoft | Self::Export => {
                write_fields!(serializer, "type": name)
            }
        }
    }
}

impl super::Response for Response {
    /// Decodes the responses that other services need.
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("held") => Self::Held {
                fence: frame.field("fence").and_then(Value::as_i64),
            },
            Some("history") => match frame.take_messages() {
                Some(Messages::List(messages)) => Self::History { messages },
                Some(Messages::Other(_)) | None => Self::Other(frame.into()),
            },
            Some("hard_memories") => match frame.take("results") {
                Some(Value::Array(results)) => Self::HardMemories {
                    results: results.into_iter().map(FoundMemory::read).collect(),
                },
                _ => Self::Other(frame.into()),
            },
            Some("claim") => match Claim::read(&mut frame) {
                Some(claim) => Self::Claim(claim),
                None => Self::Other(frame.into()),
            },
            Some("error") => Self::Error(Failure::read(frame)),
            _ => Self::Other(frame.into()),
        }
    }

    failure_variant!();
}

impl FoundMemory {
    fn read(mut value: Value) -> Self {
        let messages = value.get_mut("messages").map(Value::take);
        Self {
            messages: messages.map_or_else(Messages::default, Messages::from),
            score: value.get("score").and_then(Value::as_f64).unwrap_or(0.0),
        }
    }
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Done => write_fields!(serializer, "type": "ok"),
            Self::Appended { sequence } => {
                write_fields!(serializer, "sequence": sequence, "type": "ok")
            }
            Self::Held { fence: None } => write_fields!(serializer, "type": "held"),
            Self::Held { fence } => write_fields!(serializer, "fence": fence, "type": "held"),
            Self::History { messages } => {
                write_fields!(serializer, "messages": messages, "type": "history")
            }
            Self::Channels { channels } => {
                write_fields!(serializer, "channels": channels, "type": "channels")
            }
            Self::HardMemories { results } => {
                write_fields!(serializer, "results": results, "type": "hard_memories")
            }
            Self::Stored { id } => write_fields!(serializer, "id": id, "type": "ok"),
            Self::SoftMemory { content } => {
                write_fields!(serializer, "content": content, "type": "soft_memory")
            }
            Self::Item(item) => item.serialize(serializer),
            Self::Exported { items } => write_fields!(serializer, "items": items, "type": "done"),
            Self::Progress { done, total } => {
                write_fields!(serializer, "done": done, "total": total, "type": "progress")
            }
            Self::Imported { items } => write_fields!(serializer, "items": items, "type": "ok"),
            Self::Claim(claim) => claim.serialize(serializer),
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
