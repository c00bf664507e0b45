//! What watchers and metrics are told about an open session.

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::bus::Bus;
use crate::metrics::{self, Running, ServiceMetrics};

/// The kind of the events of sessions on the bus: lines of `zot rpc`, between those of [`SessionLine`].
pub const SESSION_EVENTS: &str = "session";

/// A line for watchers that is not of `zot rpc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum SessionLine {
    #[serde(rename = "session_opened")]
    Opened {
        profile: String,
        /// The instance of the worker on the bus.
        worker: String,
    },
    #[serde(rename = "session_closed")]
    Closed {
        /// Another worker may have opened it since.
        worker: String,
    },
}

impl SessionLine {
    fn to_bytes(&self) -> Bytes {
        // Strings can be written.
        serde_json::to_vec(self).unwrap_or_default().into()
    }
}

/// A session that a worker runs; it is closed when this is dropped.
pub(super) struct OpenSession<'a> {
    bus: &'a Bus,
    id: &'a str,
    _running: Running,
}

impl<'a> OpenSession<'a> {
    pub(super) fn new(
        bus: &'a Bus,
        id: &'a str,
        profile: &str,
        service: &'static ServiceMetrics,
    ) -> Self {
        metrics::SESSIONS_OPEN.raise();
        let opened = SessionLine::Opened {
            profile: profile.to_owned(),
            worker: bus.instance().to_owned(),
        };
        bus.publish_event(SESSION_EVENTS, id, opened.to_bytes());
        Self {
            bus,
            id,
            _running: service.begin(),
        }
    }
}

impl Drop for OpenSession<'_> {
    fn drop(&mut self) {
        metrics::SESSIONS_OPEN.lower();
        let closed = SessionLine::Closed {
            worker: self.bus.instance().to_owned(),
        };
        self.bus
            .publish_event(SESSION_EVENTS, self.id, closed.to_bytes());
    }
}
