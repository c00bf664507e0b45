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
            message: Some(message.into()),
        })
    }
}

/// A frame of type `error`. Our services always send a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub message: Option<String>,
}

impl Failure {
    pub(super) fn read(mut frame: Frame) -> Self {
        Self {
            message: frame.take_text("message"),
        }
    }
}

impl Serialize for Failure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
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
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("type", "done")?;
    map.serialize_entry("full_text", full_text)?;
    if let Some(iterations) = iterations {
        map.serialize_entry("iterations", &iterations)?;
    }
    map.end()
}
