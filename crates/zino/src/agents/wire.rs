//! What a worker and `zino attach` say to each other around the lines of `zot rpc`.
//!
//! A call begins with an [`OpenRequest`]. Both directions then carry lines: those of `zot rpc`, unchanged.
//! The worker's first line is [`WorkerLine::Opened`] or [`WorkerLine::Refused`], its last one
//! [`WorkerLine::Closed`].

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use zot_wire::write_line;

/// How the names of agents' services begin.
pub const AGENT_SERVICES: &str = "agent.";

/// The service of a profile on the bus.
pub fn service_name(profile: &str) -> String {
    format!("{AGENT_SERVICES}{profile}")
}

/// Asks a worker for a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename = "open")]
pub struct OpenRequest {
    /// The session to continue; `None` for a new one.
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub profile: String,
}

impl OpenRequest {
    pub fn to_bytes(&self) -> Bytes {
        // Strings can be written.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// A line of the worker that is not for the client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum WorkerLine {
    Opened {
        session: String,
        /// How many messages the conversation began with.
        resumed: usize,
        #[serde(default)]
        profile: ProfileFacts,
    },
    Refused {
        /// `session_busy`, `no_session`, `store_unavailable`, `full`, `draining` or `failed`.
        code: String,
        message: String,
    },
    Closed {
        reason: CloseReason,
        #[serde(default)]
        message: String,
    },
}

/// What clients of a profile may rely on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ProfileFacts {
    /// `never`, `writes` or `always`.
    pub approve: String,
    pub jail: bool,
}

/// Why a session was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CloseReason {
    /// Every command that was read was answered; the others may be sent to another worker.
    Finished,
    /// Another worker has taken the session over, or may do so.
    Moved,
    Stopped,
    #[serde(other)]
    Failed,
}

impl WorkerLine {
    /// Returns the line, with its line feed.
    pub fn to_bytes(&self) -> Bytes {
        let mut line = Vec::new();
        // Strings can be written.
        let _ = write_line(&mut line, self);
        line.into()
    }

    /// Reads the line that ends a session, if this is one.
    pub fn closed(line: &[u8]) -> Option<(CloseReason, String)> {
        if !line.starts_with(b"{\"type\":\"closed\"") {
            return None;
        }
        match serde_json::from_slice(line) {
            Ok(Self::Closed { reason, message }) => Some((reason, message)),
            _ => None,
        }
    }
}
