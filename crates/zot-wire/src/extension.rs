//! The protocol between zot and its extensions: one JSON object per line, both ways.
//!
//! An extension sends [`ExtensionFrame`]s, zot sends [`HostFrame`]s. Either side ignores
//! frames of a type it does not know and fields it does not know.

mod bounded_list;
mod event;
mod from_extension;
mod from_host;
#[cfg(test)]
mod tests;

use serde::de::DeserializeOwned;

use bounded_list::BoundedList;

use crate::{Fields, FieldsError};

pub use event::{EventKind, LifecycleEvent};
pub use from_extension::{
    CommandAction, CommandResponse, ExtensionFrame, Hello, InterceptResponse, PanelContent,
    PanelSpec, ResultBlock, Subscription, ToolResult,
};
pub use from_host::{HelloAck, HostFrame};

/// The only version so far; new frames and fields may be added to it.
pub const PROTOCOL_VERSION: u32 = 1;

/// Why a line cannot be decoded as a frame.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("not a frame: {0}")]
    Malformed(String),
    /// A type this side does not know; the frame is ignored.
    #[error("unknown frame type {0:?}")]
    UnknownType(String),
    #[error("{frame}: {error}")]
    Invalid {
        frame: &'static str,
        /// The id of the frame, so that the waiting request can fail.
        id: Option<String>,
        error: String,
    },
}

impl From<FieldsError> for FrameError {
    fn from(error: FieldsError) -> Self {
        Self::Malformed(error.to_string())
    }
}

/// The fields of one frame, decoded by name.
struct FrameReader {
    fields: Fields,
    frame: &'static str,
}

impl FrameReader {
    fn read<T: DeserializeOwned + Default>(&self, name: &str) -> Result<T, FrameError> {
        self.fields
            .get(name)
            .map_err(|error| self.invalid(name, &error))
    }

    /// Decodes a list of limited length.
    fn list<T: DeserializeOwned>(&self, name: &str) -> Result<Vec<T>, FrameError> {
        self.read(name).map(|BoundedList(items)| items)
    }

    fn required<T: DeserializeOwned>(&self, name: &str) -> Result<T, FrameError> {
        match self.fields.raw(name) {
            Some(raw) => {
                serde_json::from_str(raw.get()).map_err(|error| self.invalid(name, &error))
            }
            None => Err(self.invalid(name, &"is missing")),
        }
    }

    fn raw(&self, name: &str) -> Option<crate::RawJson> {
        self.fields.raw(name).map(Into::into)
    }

    fn invalid(&self, field: &str, error: &dyn std::fmt::Display) -> FrameError {
        FrameError::Invalid {
            frame: self.frame,
            id: self.fields.get("id").ok().flatten(),
            error: format!("{field}: {error}"),
        }
    }
}
