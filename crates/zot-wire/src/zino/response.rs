//! The common parts of responses of all services.

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

use super::Frame;

/// One frame of a service's response.
pub trait Response: Serialize + Sized + Send + 'static {
    /// Decodes a frame. An unknown one is kept unchanged: it may belong to a later version.
    fn read(frame: Frame) -> Self;

    fn failure(failure: Failure) -> Self;

    /// The failure, if this is one.
    fn as_failure(&self) -> Option<&Failure>;

    fn error(message: impl Into<String>) -> Self {
        Self::failure(Failure {
            code: None,
            message: Some(message.into()),
        })
    }

    fn error_with_code(code: ErrorCode, message: impl Into<String>) -> Self {
        Self::failure(Failure {
            code: Some(code),
            message: Some(message.into()),
        })
    }
}

/// A frame of type `error`. Our services always send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Ours: set where a program may want to react to it.
    pub code: Option<ErrorCode>,
    pub message: Option<String>,
}

/// What failed, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The database cannot be reached or used; the message says so if a change may have been stored.
    StoreUnavailable,
    /// Another turn is writing to the channel.
    ChannelBusy,
    /// Another service has taken over the channel; nothing was changed.
    Moved,
    /// The caller's certificate does not allow the request.
    NotAllowed,
}

impl ErrorCode {
    const ALL: [Self; 4] = [
        Self::StoreUnavailable,
        Self::ChannelBusy,
        Self::Moved,
        Self::NotAllowed,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::StoreUnavailable => "store_unavailable",
            Self::ChannelBusy => "channel_busy",
            Self::Moved => "moved",
            Self::NotAllowed => "not_allowed",
        }
    }

    /// The code of this name; `None` for one of a later version.
    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl Failure {
    pub(super) fn read(mut frame: Frame) -> Self {
        Self {
            code: frame.text("code").and_then(ErrorCode::named),
            message: frame.take_text("message"),
        }
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(code) = self.code {
            map.serialize_entry("code", code.name())?;
        }
        if let Some(message) = &self.message {
            map.serialize_entry("message", message)?;
        }
        map.serialize_entry("type", "error")?;
        map.end()
    }
}

/// Writes one frame, its keys in the given order.
macro_rules! write_fields {
    ($serializer:expr, $($name:literal: $value:expr),+ $(,)?) => {{
        use serde::ser::SerializeMap as _;
        let mut map = $serializer.serialize_map(None)?;
        $(map.serialize_entry($name, $value)?;)+
        map.end()
    }};
}

pub(super) use write_fields;

/// The methods of [`Response`] for an enum whose variant `Error` holds the failure.
macro_rules! failure_variant {
    () => {
        fn failure(failure: Failure) -> Self {
            Self::Error(failure)
        }

        fn as_failure(&self) -> Option<&Failure> {
            match self {
                Self::Error(failure) => Some(failure),
                _ => None,
            }
        }
    };
}

pub(super) use failure_variant;

/// Writes a delta of text, the most frequent frame.
pub(super) fn write_chunk<S: Serializer>(serializer: S, delta: &str) -> Result<S::Ok, S::Error> {
    write_fields!(serializer, "type": "chunk", "delta": delta)
}

/// Writes the end of a streamed text.
pub(super) fn write_done<S: Serializer>(
    serializer: S,
    full_text: &str,
    iterations: Option<u64>,
    unsaved: Option<&str>,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("type", "done")?;
    map.serialize_entry("full_text", full_text)?;
    if let Some(iterations) = iterations {
        map.serialize_entry("iterations", &iterations)?;
    }
    if let Some(unsaved) = unsaved {
        map.serialize_entry("unsaved", unsaved)?;
    }
    map.end()
}
