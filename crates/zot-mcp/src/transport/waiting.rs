//! Who waits for which response, where responses may come on another stream than the request's.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::CallError;
use crate::json_rpc::{RequestId, RpcError};

type Answer = Result<Box<RawValue>, RpcError>;

/// The requests without a response.
#[derive(Default)]
pub(super) struct Waiting {
    requests: Mutex<HashMap<RequestId, oneshot::Sender<Answer>>>,
}

/// The wait for one response. Dropping it forgets the request.
pub(super) struct Wait<'a> {
    waiting: &'a Waiting,
    id: &'a RequestId,
    answer: oneshot::Receiver<Answer>,
}

impl Waiting {
    pub(super) fn begin<'a>(&'a self, id: &'a RequestId) -> Wait<'a> {
        let (sender, answer) = oneshot::channel();
        self.requests().insert(id.clone(), sender);
        Wait {
            waiting: self,
            id,
            answer,
        }
    }

    /// Hands a response to who waits for it, if anybody does.
    pub(super) fn resolve(&self, id: &RequestId, answer: Answer) {
        let waiting = self.requests().remove(id);
        if let Some(waiting) = waiting {
            // The caller may have given up.
            let _ = waiting.send(answer);
        }
    }

    /// Hands an error that does not say whose it is to who waits, if there is only one.
    pub(super) fn refuse_the_only_one(&self, error: RpcError) {
        let mut requests = self.requests();
        if requests.len() == 1
            && let Some((_, waiting)) = requests.drain().next()
        {
            // The caller may have given up.
            let _ = waiting.send(Err(error));
        }
    }

    /// Ends every wait without a response.
    pub(super) fn give_up(&self) {
        self.requests().clear();
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.requests().is_empty()
    }

    fn requests(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Answer>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wait<'_> {
    /// Waits for the response. Cancel-safe, but must not be polled again once it is there.
    pub(super) async fn answer(&mut self) -> Result<Box<RawValue>, CallError> {
        match (&mut self.answer).await {
            Ok(answer) => answer.map_err(CallError::Refused),
            Err(_) => Err(CallError::Disconnected("the stream ended".to_owned())),
        }
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        self.waiting.requests().remove(self.id);
    }
}
