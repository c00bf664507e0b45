//! The requests that every service handles.

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::response::{failure_variant, write_fields};
use super::{Failure, Frame};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    Ping,
    Version,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Response {
    Pong,
    Version { service: String, version: String },
    Error(Failure),
    Other(Value),
}

impl Request {
    /// Decodes a frame, if it is one of these requests.
    pub fn of(frame: &Frame) -> Option<Self> {
        match frame.type_name() {
            Some("ping") => Some(Self::Ping),
            Some("version") => Some(Self::Version),
            _ => None,
        }
    }
}

impl super::Request for Request {
    type Response = Response;

    const SERVICE: &'static str = "any";

    fn read(frame: Frame) -> Result<Self, super::RequestError> {
        Self::of(&frame).ok_or_else(|| frame.unknown_type())
    }

    fn type_name(&self) -> &'static str {
        match self {
            Self::Ping => "ping",
            Self::Version => "version",
        }
    }
}

impl Serialize for Request {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_fields!(serializer, "type": super::Request::type_name(self))
    }
}

impl super::Response for Response {
    fn read(mut frame: Frame) -> Self {
        match frame.type_name() {
            Some("pong") => Self::Pong,
            Some("version") if frame.text("version").is_some() => Self::Version {
                service: frame.take_text("service").unwrap_or_default(),
                version: frame.take_text("version").unwrap_or_default(),
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
            Self::Pong => write_fields!(serializer, "type": "pong"),
            Self::Version { service, version } => write_fields!(
                serializer, "service": service, "type": "version", "version": version,
            ),
            Self::Error(failure) => failure.serialize(serializer),
            Self::Other(value) => value.serialize(serializer),
        }
    }
}
