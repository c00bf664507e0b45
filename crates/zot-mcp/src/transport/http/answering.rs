//! Passes on what a server sends other than responses, and answers its requests.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;

use super::Shared;
use crate::json_rpc::{self, Incoming};
use crate::transport::CallHints;

/// How many requests of a server may be unanswered at a time.
///
/// Limit: the request gets no answer.
const MAX_HTTP_SERVER_REQUESTS: usize = 16;

/// The answers that are being found. Dropping it gives them up.
#[derive(Default)]
pub(super) struct Answering {
    tasks: Mutex<JoinSet<()>>,
}

impl Answering {
    /// Passes on a message that is not the response to the request at hand.
    pub(super) fn take(&self, shared: &Arc<Shared>, message: Incoming) {
        match message {
            Incoming::Notification { method, params } => {
                shared
                    .endpoint
                    .inbox
                    .notification(&method, params.as_deref());
            }
            // The modern era knows no requests of servers.
            Incoming::Request { .. } if shared.is_modern() => {}
            Incoming::Request { id, method, params } => {
                let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                while tasks.try_join_next().is_some() {}
                if tasks.len() >= MAX_HTTP_SERVER_REQUESTS {
                    return;
                }
                let shared = Arc::clone(shared);
                tasks.spawn(async move {
                    let inbox = &shared.endpoint.inbox;
                    let answer = inbox.request(&method, params.as_deref()).await;
                    let body = json_rpc::encode_response(&id, answer.as_deref());
                    if let Ok(body) = body {
                        let headers = shared.message_headers("", &CallHints::default());
                        // A server that does not take the answer no longer waits for it.
                        let _ = shared.post_message(body, headers).await;
                    }
                });
            }
            Incoming::Response { id, result } => shared.waiting.resolve(&id, result),
            // Here it cannot be told whose it is.
            Incoming::Refusal(_) => {}
        }
    }

    pub(super) async fn shut_down(&self) {
        let mut tasks = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut *tasks)
        };
        tasks.shutdown().await;
    }
}
