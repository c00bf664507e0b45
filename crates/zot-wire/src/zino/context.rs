//! `ctx`: examples, memories and history for a message.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::response::{failure_variant, write_fields};
use super::{Failure, Frame, Message, Messages, RequestError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Build {
        channel_id: Option<String>,
        user_message: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Context { messages: Vec<Message> },
    Error(Failure),
    Other(Value),
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "ctx";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        if frame.type_name() != Some("build") {
            return Err(frame.unknown_type());
        }
        Ok(Self::Build {
            user_message: frame.string_or_empty("user_message")?,
            channel_id: frame.channel_id(),
        })
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Build { .. } => "build",
        }
    }

    fn channel_id(&self) -> Option<&str> {
        match self {
            Self::Build { channel_id, .. } => channel_id.as_deref(),
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self::Build {
            channel_id,
            user_message,
        } = self;
        write_fields!(
            serializer, "channel_id": channel_id, "type": "build", "user_message": user_message,
        )
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("context") => Self::Context {
                messages: match frame.take_messages() {
                    Some(Messages::List(messages)) => messages,
                    Some(Messages::Other(_)) | None => Vec::new(),
                },
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
            Self::Context { messages } => {
                write_fields!(serializer, "messages": messages, "type": "context")
            }
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
