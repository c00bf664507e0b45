//! Requests to an extension that wait for a response.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use zot_wire::extension::{CommandResponse, InterceptResponse, ToolResult};

use crate::limits::MAX_PENDING_REQUESTS;

/// Why a request has no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("the extension is not running")]
    NotRunning,
    #[error("the extension does not read its input")]
    NotReading,
    #[error("too many requests wait for an answer")]
    TooMany,
    /// It ended during the request.
    #[error("{0}")]
    Ended(String),
    /// Its response is invalid.
    #[error("{0}")]
    Invalid(String),
    #[error("no answer within {}s", .0.as_secs())]
    TimedOut(Duration),
    #[error("context canceled")]
    Cancelled,
}

type ResponseSender<T> = oneshot::Sender<Result<T, RequestError>>;

/// A caller that waits for a response.
pub(crate) enum Waiting {
    Tool(ResponseSender<ToolResult>),
    Intercept(ResponseSender<InterceptResponse>),
    Command(ResponseSender<CommandResponse>),
}

impl Waiting {
    pub(crate) fn fail(self, error: RequestError) {
        // The caller may have stopped waiting.
        match self {
            Self::Tool(sender) => drop(sender.send(Err(error))),
            Self::Intercept(sender) => drop(sender.send(Err(error))),
            Self::Command(sender) => drop(sender.send(Err(error))),
        }
    }
}

#[derive(Default)]
pub(crate) struct Pending(Mutex<HashMap<String, Waiting>>);

impl Pending {
    pub(crate) fn add(&self, id: &str, waiting: Waiting) -> Result<(), RequestError> {
        let mut pending = self.lock();
        if pending.len() >= MAX_PENDING_REQUESTS {
            return Err(RequestError::TooMany);
        }
        pending.insert(id.to_owned(), waiting);
        Ok(())
    }

    pub(crate) fn take(&self, id: &str) -> Option<Waiting> {
        self.lock().remove(id)
    }

    pub(crate) fn fail_all(&self, error: &RequestError) {
        let pending = std::mem::take(&mut *self.lock());
        for waiting in pending.into_values() {
            waiting.fail(error.clone());
        }
    }

    /// Fails all pending tool calls: an unreadable response was meant for one of them.
    pub(crate) fn fail_tools(&self, error: &RequestError) -> usize {
        let mut pending = self.lock();
        let failed: Vec<Waiting> = pending
            .extract_if(|_, waiting| matches!(waiting, Waiting::Tool(_)))
            .map(|(_, waiting)| waiting)
            .collect();
        let count = failed.len();
        for waiting in failed {
            waiting.fail(error.clone());
        }
        count
    }

    #[cfg(test)]
    pub(crate) fn ids(&self) -> std::collections::HashSet<String> {
        self.lock().keys().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Waiting>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes a request when its caller stops waiting.
pub(crate) struct PendingRequest<'a> {
    pub(crate) pending: &'a Pending,
    pub(crate) id: String,
}

impl Drop for PendingRequest<'_> {
    fn drop(&mut self) {
        self.pending.take(&self.id);
    }
}
