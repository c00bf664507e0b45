//! Calls that wait until their client has asked its user and repeats the request (modern).
//!
//! The state of such a request is a random handle: guessing one is impossible, and a changed one finds
//! nothing. It works once, and only for the same call.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::call::Call;
use crate::http::random_hex;
use crate::jobs::Jobs;

const HANDLE_BYTES: usize = 24;

/// The calls of all clients that wait. Their number is limited by that of running calls.
#[derive(Default)]
pub(crate) struct Suspended(Mutex<HashMap<String, Entry>>);

struct Entry {
    call: Box<Call>,
    /// Ends the wait for the deadline.
    resumed: CancellationToken,
}

/// Why a call cannot go on.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum NotSuspended {
    #[error(
        "unknown requestState: the call has ended, or waited too long for an answer. A session that was \
         begun can be continued with zot_reply"
    )]
    Unknown,
    #[error("this requestState belongs to another call: repeat the name and the arguments")]
    OtherCall,
}

impl Suspended {
    /// Keeps a call until it is resumed; after the user's time is up, it is cancelled.
    pub(crate) async fn keep(self: &Arc<Self>, call: Box<Call>, jobs: &Jobs) -> io::Result<String> {
        let handle = random_hex(HANDLE_BYTES)?;
        let patience = call.patience();
        let resumed = CancellationToken::new();
        let entry = Entry {
            call,
            resumed: resumed.clone(),
        };
        self.lock().insert(handle.clone(), entry);
        let (suspended, kept) = (Arc::clone(self), handle.clone());
        jobs.start(async move {
            tokio::select! {
                () = resumed.cancelled() => {}
                () = sleep(patience) => {}
            }
            let entry = suspended.lock().remove(&kept);
            if let Some(mut entry) = entry {
                entry.call.give_up().await;
            }
        })
        .await;
        Ok(handle)
    }

    /// Takes a call out that waits for an answer.
    pub(crate) fn take(
        &self,
        handle: &str,
        tool: &str,
        arguments: &Value,
    ) -> Result<Box<Call>, NotSuspended> {
        let mut waiting = self.lock();
        let entry = waiting.get(handle).ok_or(NotSuspended::Unknown)?;
        if entry.call.tool != tool || entry.call.arguments != *arguments {
            return Err(NotSuspended::OtherCall);
        }
        let entry = waiting.remove(handle).ok_or(NotSuspended::Unknown)?;
        entry.resumed.cancel();
        Ok(entry.call)
    }

    /// Lets every waiting call end: nobody will answer.
    pub(crate) fn end_all(&self) {
        for entry in self.lock().values() {
            entry.resumed.cancel();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
