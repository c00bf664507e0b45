//! Requests that wait for their responses.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use crate::json_rpc::RequestId;
use crate::transport::CallError;

/// Requests to one server that wait for a response.
///
/// Limit: a further request to the server fails.
const MAX_PENDING_CALLS: usize = 256;

type Outcome = Result<Box<RawValue>, CallError>;

#[derive(Default)]
pub(super) struct Pending {
    calls: Mutex<HashMap<RequestId, Call>>,
}

struct Call {
    /// Whether its response may take forever, because the request is a stream.
    is_stream: bool,
    sender: oneshot::Sender<Outcome>,
}

/// A request that waits. Dropping it gives the response up.
pub(super) struct Waiting<'a> {
    pending: &'a Pending,
    id: &'a RequestId,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.pending.lock().remove(self.id);
    }
}

impl Pending {
    pub(super) fn add<'a>(
        &'a self,
        id: &'a RequestId,
        method: &str,
        sender: oneshot::Sender<Outcome>,
    ) -> Result<Waiting<'a>, CallError> {
        let mut calls = self.lock();
        if calls.len() >= MAX_PENDING_CALLS {
            return Err(CallError::Invalid(format!(
                "{MAX_PENDING_CALLS} requests wait for the server already"
            )));
        }
        let is_stream = method == "subscriptions/listen";
        calls.insert(id.clone(), Call { is_stream, sender });
        Ok(Waiting { pending: self, id })
    }

    /// Hands a response over; `false` if nobody waits for it.
    pub(super) fn resolve(&self, id: &RequestId, outcome: Outcome) -> bool {
        match self.lock().remove(id) {
            Some(call) => call.sender.send(outcome).is_ok(),
            None => false,
        }
    }

    /// Fails the only request that waits, if it is the only one: a response that was too long to be read, or that
    /// does not say whose it is, can only be its. Returns whether it is.
    pub(super) fn fail_the_only_one(&self, error: CallError) -> bool {
        let mut calls = self.lock();
        let mut waiting = calls.iter().filter(|(_, call)| !call.is_stream);
        let (Some((id, _)), None) = (waiting.next(), waiting.next()) else {
            return false;
        };
        let id = id.clone();
        match calls.remove(&id) {
            Some(call) => call.sender.send(Err(error)).is_ok(),
            None => false,
        }
    }

    pub(super) fn fail_all(&self, reason: &str) {
        for (_, call) in self.lock().drain() {
            let _ = call
                .sender
                .send(Err(CallError::Disconnected(reason.to_owned())));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, Call>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
