//! `daemon`: answers clients.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::response::{failure_variant, write_chunk, write_done, write_fields};
use super::{Failure, Frame, RequestError};

/// A message from a client: the only request of the daemon, without a `type`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Not empty, without surrounding blanks.
    pub message: String,
    /// The channel whose history belongs to the message.
    pub channel_id: Option<String>,
    /// Whether the response is streamed.
    pub stream: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Chunk(String),
    Done {
        full_text: String,
        iterations: Option<u64>,
        /// Ours: why the exchange is not in the channel's history, although it should be.
        unsaved: Option<String>,
    },
    Response {
        content: String,
        /// As in [`Self::Done`].
        unsaved: Option<String>,
    },
    Error(Failure),
    Other(Value),
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "daemon";

    fn read(frame: Frame) -> Result<Self, RequestError> {
        let message = match frame.field("message") {
            None | Some(Value::Null) => "",
            Some(Value::String(message)) => message.trim(),
            Some(_) => return Err(RequestError::wrong("message", "a string")),
        };
        if message.is_empty() {
            return Err(RequestError::EmptyMessage);
        }
        Ok(Self {
            message: message.to_owned(),
            channel_id: frame.channel_id(),
            stream: frame.wants_stream(),
        })
    }

    fn type_name(&self) -> &'static str {
        match self.stream {
            true => "stream",
            false => "request",
        }
    }

    fn channel_id(&self) -> Option<&str> {
        self.channel_id.as_deref()
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap as _;
        let mut map = serializer.serialize_map(None)?;
        if let Some(channel_id) = &self.channel_id {
            map.serialize_entry("channel_id", channel_id)?;
        }
        map.serialize_entry("message", &self.message)?;
        map.serialize_entry("stream", &self.stream)?;
        map.end()
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("chunk") if frame.text("delta").is_some() => {
                Self::Chunk(frame.take_text("delta").unwrap_or_default())
            }
            Some("done") if frame.text("full_text").is_some() => Self::Done {
                iterations: frame.field("iterations").and_then(Value::as_u64),
                unsaved: frame.take_text("unsaved"),
                full_text: frame.take_text("full_text").unwrap_or_default(),
            },
            Some("response") => Self::Response {
                unsaved: frame.take_text("unsaved"),
                content: frame.take_text("content").unwrap_or_default(),
            },
            Some("error") => Self::Error(Failure::read(frame)),
            _ => Self::Other(frame.into()),
        }
    }

    failure_variant!();
}

impl Serialize for Response {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Chunk(delta) => write_chunk(serializer, delta),
            Self::Done {
                full_text,
                iterations,
                unsaved,
            } => write_done(serializer, full_text, *iterations, unsaved.as_deref()),
            Self::Response {
                content,
                unsaved: None,
            } => write_fields!(serializer, "content": content, "type": "response"),
            Self::Response { content, unsaved } => write_fields!(
                serializer, "content": content, "type": "response", "unsaved": unsaved,
            ),
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
