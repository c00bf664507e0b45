//! The common parts of requests to all services.

use serde::Serialize;

use super::{Frame, Response};

/// A request to one service.
pub trait Request: Serialize + Sized + Send + 'static {
    type Response: Response;

    /// Decodes a frame, with the leniency of the original. Unknown fields are ignored.
    fn read(frame: Frame) -> Result<Self, RequestError>;

    /// The name of the request in the log.
    fn type_name(&self) -> &'static str;

    fn channel_id(&self) -> Option<&str> {
        None
    }

    /// Whether a request whose fate is unknown may be sent again, to the same service or another: having
    /// it handled twice changes nothing more than having it handled once.
    fn is_repeatable(&self) -> bool;
}

/// Why a frame is not a request; the text is the `message` of the error response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("Unknown message type: {0}")]
    UnknownType(String),
    #[error("{field} must be {expected}")]
    WrongType {
        field: &'static str,
        expected: &'static str,
    },
    #[error("Empty message.")]
    EmptyMessage,
    #[error("channel_id required")]
    NoChannel,
    #[error("messages[{0}] must be an object with role and content")]
    NotAMessage(usize),
    #[error("messages[{index}]: {field} must be a string")]
    MessageField { index: usize, field: &'static str },
    #[error("items[{index}]: {source}")]
    Item {
        index: usize,
        source: Box<RequestError>,
    },
}

impl RequestError {
    pub(super) fn wrong(field: &'static str, expected: &'static str) -> Self {
        Self::WrongType { field, expected }
    }
}
