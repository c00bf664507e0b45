//! The common parts of requests to all services.

use serde::Serialize;

use super::repeat::Repeat;
use super::{Frame, Response};

/// A request to one service.
pub trait Request: Serialize + Sized + Send + 'static {
    type Response: Response;

    /// The name of the service.
    const SERVICE: &'static str;

    /// Decodes a frame, with the leniency of the original. Unknown fields are ignored.
    fn read(frame: Frame) -> Result<Self, RequestError>;

    /// The name of the request in the log.
    fn type_name(&self) -> &'static str;

    fn channel_id(&self) -> Option<&str> {
        None
    }

    /// The name under which the request is stored once, however often it is sent.
    fn call_name(&self) -> Option<&str> {
        None
    }

    /// Whether a request whose fate is unknown may be sent again, to the same service or another, as long
    /// as no frame of its response was used.
    fn is_repeatable(&self) -> bool {
        match Repeat::of(Self::SERVICE, self.type_name()) {
            Repeat::Always | Repeat::OneAtATime | Repeat::BeforeFirstFrame => true,
            Repeat::Named => self.call_name().is_some(),
            Repeat::Claimed | Repeat::Never => false,
        }
    }
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
