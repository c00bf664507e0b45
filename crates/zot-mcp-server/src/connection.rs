//! What is known about a client between its messages: standard streams, or a session over HTTP.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use zot_mcp::json_rpc::{RequestId, RpcError};
use zot_mcp::version::Era;

use crate::elicitation::{Answer, Question};
use crate::frame::{Frame, notification_frame, request_frame};
use crate::request::ClientAbilities;

/// How many requests of one client may be answered at a time.
///
/// Limit: the request is refused.
pub(crate) const MAX_OPEN_REQUESTS: usize = 128;

/// The state of one client.
#[derive(Default)]
pub(crate) struct Connection(Mutex<State>);

#[derive(Default)]
struct State {
    /// Set by `initialize`.
    legacy: Option<ClientAbilities>,
    running: HashMap<RequestId, CancellationToken>,
    /// Questions that wait for the client's response.
    asked: HashMap<i64, oneshot::Sender<Answer>>,
    next_question: i64,
    is_closed: bool,
}

/// Why a request cannot be begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refused {
    #[error("a request with this id is running")]
    SameId,
    #[error("{MAX_OPEN_REQUESTS} requests are running: wait for one of them")]
    TooMany,
}

impl Connection {
    pub(crate) fn set_legacy(&self, abilities: ClientAbilities) {
        self.lock().legacy = Some(abilities);
    }

    /// Returns the abilities that the client stated with `initialize`.
    pub(crate) fn legacy(&self) -> Option<ClientAbilities> {
        self.lock().legacy
    }

    /// Notes a request, so that it can be cancelled.
    pub(crate) fn begin(&self, id: &RequestId) -> Result<CancellationToken, Refused> {
        let mut state = self.lock();
        if state.running.contains_key(id) {
            return Err(Refused::SameId);
        }
        if state.running.len() >= MAX_OPEN_REQUESTS {
            return Err(Refused::TooMany);
        }
        let cancel = CancellationToken::new();
        state.running.insert(id.clone(), cancel.clone());
        Ok(cancel)
    }

    pub(crate) fn end(&self, id: &RequestId) {
        self.lock().running.remove(id);
    }

    /// Cancels the request that a notification names; what is unknown has ended already.
    pub(crate) fn cancel(&self, params: &serde_json::Map<String, Value>) {
        let id = params.get("requestId").cloned();
        let id = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok());
        if let Some(id) = id
            && let Some(cancel) = self.lock().running.get(&id)
        {
            cancel.cancel();
        }
    }

    pub(crate) fn cancel_all(&self) {
        for cancel in self.lock().running.values() {
            cancel.cancel();
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.lock().running.is_empty()
    }

    /// Makes all questions, now and later, end without an answer.
    pub(crate) fn close_questions(&self) {
        let mut state = self.lock();
        state.is_closed = true;
        state.asked.clear();
    }

    /// Delivers the response to a question; others are ignored.
    pub(crate) fn answer(&self, id: &RequestId, result: Result<Value, RpcError>) {
        let RequestId::Number(number) = id else {
            return;
        };
        let Some(waiting) = self.lock().asked.remove(number) else {
            return;
        };
        let answer = match result {
            Ok(result) => Answer::read(&result).unwrap_or(Answer::Cancel),
            Err(_) => Answer::Unavailable,
        };
        // The caller may have given up.
        let _ = waiting.send(answer);
    }

    /// Asks the client's user with a request of ours (legacy).
    pub(crate) async fn ask(&self, question: &Question, outbox: &mpsc::Sender<Frame>) -> Answer {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut state = self.lock();
            if state.is_closed {
                return Answer::Unavailable;
            }
            state.next_question += 1;
            let number = state.next_question;
            state.asked.insert(number, sender);
            number
        };
        let asked = Asked {
            connection: self,
            outbox,
            number,
        };
        let params = question.params(Era::Legacy, &number.to_string());
        let request = request_frame(number, "elicitation/create", params);
        if outbox.send(request).await.is_err() {
            return Answer::Unavailable;
        }
        let answer = receiver.await.unwrap_or(Answer::Unavailable);
        drop(asked);
        answer
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a question back when its answer is no longer awaited.
struct Asked<'a> {
    connection: &'a Connection,
    outbox: &'a mpsc::Sender<Frame>,
    number: i64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        if self.connection.lock().asked.remove(&self.number).is_some() {
            let params = json!({
                "requestId": self.number,
                "reason": "the call no longer waits for an answer",
            });
            // A client that reads nothing does not have to know.
            let _ = self
                .outbox
                .try_send(notification_frame("notifications/cancelled", params));
        }
    }
}
