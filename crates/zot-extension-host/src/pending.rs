//! Questions to an extension that wait for an answer.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use zot_wire::extension::{CommandResponse, InterceptResponse, ToolResult};

use crate::limits::MAX_PENDING_REQUESTS;

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    #[error("the extension is not running")]
    NotRunning,
    #[error("the extension does not read its input")]
    NotReading,
    #[error("too many requests wait for an answer")]
    TooMany,
    /// It ended while it was asked.
    #[error("{0}")]
    Ended(String),
    /// It answered something that is no answer.
    #[error("{0}")]
    Invalid(String),
    #[error("no answer within {}s", .0.as_secs())]
    TimedOut(Duration),
    #[error("context canceled")]
    Cancelled,
}

type Answer<T> = oneshot::Sender<Result<T, RequestError>>;

/// Who waits, and for what.
pub(crate) enum Waiting {
    Tool(Answer<ToolResult>),
    Intercept(Answer<InterceptResponse>),
    Command(Answer<CommandResponse>),
}

impl Waiting {
    pub(crate) fn fail(self, error: RequestError) {
        // Whoever waited may have given up.
        match self {
            Self::Tool(answer) => drop(answer.send(Err(error))),
            Self::Intercept(answer) => drop(answer.send(Err(error))),
            Self::Command(answer) => drop(answer.send(Err(error))),
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

    /// Fails those who wait for a tool: one of them was meant by an answer that cannot be read.
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

/// Forgets a question when nobody waits for its answer any more.
pub(crate) struct Question<'a> {
    pub(crate) pending: &'a Pending,
    pub(crate) id: String,
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        self.pending.take(&self.id);
    }
}
