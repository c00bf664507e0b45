//! `sys`: the system prompt.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::response::{failure_variant, write_fields};
use super::{Failure, Frame, RequestError};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Get,
    /// Reloads template, tools and skills.
    Reload,
    SetSoftMemory {
        content: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    SystemPrompt { content: String },
    Error(Failure),
    Other(Value),
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "sys";

    fn read(mut frame: Frame) -> Result<Self, RequestError> {
        match frame.type_name() {
            Some("get") => Ok(Self::Get),
            Some("reload") => Ok(Self::Reload),
            Some("set_soft_memory") => match frame.take("content") {
                None => Ok(Self::SetSoftMemory {
                    content: String::new(),
                }),
                Some(Value::String(content)) => Ok(Self::SetSoftMemory { content }),
                Some(_) => Err(RequestError::wrong("content", "a string")),
            },
            _ => Err(frame.unknown_type()),
        }
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Reload => "reload",
            Self::SetSoftMemory { .. } => "set_soft_memory",
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = super::Request::type_name(self);
        match self {
            Self::Get | Self::Reload => write_fields!(serializer, "type": name),
            Self::SetSoftMemory { content } => {
                write_fields!(serializer, "content": content, "type": name)
            }
        }
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("system_prompt") => Self::SystemPrompt {
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
            Self::SystemPrompt { content } => {
                write_fields!(serializer, "content": content, "type": "system_prompt")
            }
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
