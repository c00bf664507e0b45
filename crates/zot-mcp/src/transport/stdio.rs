//! A program that speaks on its standard streams, one message per line.
//!
//! One task reads everything the program writes. A call writes its line itself and waits for the reader
//! to find the response: no task per call, and nothing to wake up in between.

mod life;
mod pending;

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_extension_contract::{LaunchError, ProgramLaunch, start_program};
use zot_process::streams::Outbox;

use super::{CallError, CallHints, Inbox, Transport};
use crate::json_rpc::{RequestId, encode_call};
use crate::log::ServerLog;
use crate::version::Era;

use life::Life;
use pending::Pending;

/// A connection to a program. Dropping it kills the program and everything it started.
pub struct StdioTransport {
    shared: Arc<Shared>,
    stop: CancellationToken,
    reader: Mutex<JoinSet<()>>,
}

/// What calls and the reader share.
struct Shared {
    outbox: Outbox,
    pending: Pending,
    inbox: Arc<dyn Inbox>,
    log: Arc<ServerLog>,
    /// Why the program has gone, once it has.
    end: watch::Sender<Option<String>>,
}

impl StdioTransport {
    /// Starts the program. Must be called inside a tokio runtime.
    pub fn start(
        program: &ProgramLaunch<'_>,
        inbox: Arc<dyn Inbox>,
        log: Arc<ServerLog>,
    ) -> Result<Self, LaunchError> {
        let mut process = start_program(program)?;
        for shortfall in process.shortfalls.drain(..) {
            log.note(&shortfall);
        }
        let shared = Arc::new(Shared {
            outbox: Outbox::default(),
            pending: Pending::default(),
            inbox,
            log,
            end: watch::Sender::new(None),
        });
        let stop = CancellationToken::new();
        let mut reader = JoinSet::new();
        reader.spawn(Life::begin(Arc::clone(&shared), process).run(stop.clone()));
        Ok(Self {
            shared,
            stop,
            reader: Mutex::new(reader),
        })
    }

    fn send(&self, line: Vec<u8>) -> Result<(), CallError> {
        self.shared.send(line).map_err(CallError::Disconnected)
    }

    fn reason(&self) -> String {
        let reason = self.shared.end.borrow().clone();
        reason.unwrap_or_else(|| "the server has gone".to_owned())
    }
}

impl Shared {
    fn send(&self, mut line: Vec<u8>) -> Result<(), String> {
        // Arguments are passed through as the model wrote them. Between tokens a line end is only
        // white space, and within a string JSON does not allow it.
        for byte in &mut line {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        line.push(b'\n');
        self.outbox.send(&line).map_err(|error| error.to_string())
    }
}

impl Transport for StdioTransport {
    fn call<'a>(
        &'a self,
        id: &'a RequestId,
        method: &'a str,
        params: &'a RawValue,
        _hints: CallHints<'a>,
    ) -> BoxFuture<'a, Result<Box<RawValue>, CallError>> {
        Box::pin(async move {
            let line = encode_call(Some(id), method, Some(params))
                .map_err(|error| CallError::Invalid(error.to_string()))?;
            let (sender, receiver) = oneshot::channel();
            let _waiting = self.shared.pending.add(id, method, sender)?;
            // Checked after it was added: whatever ends the program fails those that it finds.
            if self.shared.end.borrow().is_some() {
                return Err(CallError::Disconnected(self.reason()));
            }
            self.send(line)?;
            match receiver.await {
                Ok(result) => result,
                Err(_) => Err(CallError::Disconnected(self.reason())),
            }
        })
    }

    fn notify<'a>(
        &'a self,
        method: &'a str,
        params: Option<&'a RawValue>,
    ) -> BoxFuture<'a, Result<(), CallError>> {
        Box::pin(async move {
            let line = encode_call(None, method, params)
                .map_err(|error| CallError::Invalid(error.to_string()))?;
            self.send(line)
        })
    }

    fn set_version(&self, _era: Era, _version: &str) {}

    fn cancels_by_dropping(&self) -> bool {
        false
    }

    fn closed(&self) -> BoxFuture<'_, String> {
        Box::pin(async move {
            let mut end = self.shared.end.subscribe();
            match end.wait_for(Option::is_some).await {
                Ok(reason) => reason.clone().unwrap_or_default(),
                // The sender lives as long as we do.
                Err(_) => self.reason(),
            }
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop.cancel();
            let mut reader = {
                let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
                std::mem::take(&mut *reader)
            };
            while reader.join_next().await.is_some() {}
        })
    }
}
