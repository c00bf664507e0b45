//! Reads a response of `rtr` as it arrives, and the errors of the services that `agr` calls.

use std::collections::VecDeque;
use std::future::Future;
use std::io;
use std::pin::pin;

use zot_wire::zino::Failure;
use zot_wire::zino::router::{Inference, Request, Response};

use crate::peer::{Call, CallError, Peer, Unreachable};

/// How much of a response is buffered while a tool runs.
///
/// Limit: the model waits while a tool runs.
const MAX_READ_AHEAD_BYTES: usize = 1024 * 1024;

/// How often a model call is repeated that was lost before anything of its response was passed on.
///
/// Limit: the run fails.
pub(super) const MAX_MODEL_CALL_REPEATS: u32 = 2;

/// Why a run cannot continue.
#[derive(Debug, thiserror::Error)]
pub(super) enum RuntimeError {
    #[error("{}", errno_text(.0))]
    Unreachable(io::Error),
    #[error(transparent)]
    Call(CallError),
    /// An error response of `rtr`, worded as in the original.
    #[error("rtr{} error: {message}", if *.streaming { " stream" } else { "" })]
    Router { streaming: bool, message: String },
    #[error("unexpected response from {0}")]
    Unexpected(&'static str),
    #[error("the response of rtr is longer than {0} bytes")]
    TooLong(usize),
}

impl RuntimeError {
    /// Whether `rtr` was lost on the way, so that another one may have better luck.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self, Self::Call(error) if error.is_lost())
    }
}

impl From<CallError> for RuntimeError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Unreachable(Unreachable::Socket(error)) => Self::Unreachable(error),
            other => Self::Call(other),
        }
    }
}

/// Formats an error as Python does: callers of the original know these texts.
fn errno_text(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(code) => {
            let words = text.strip_suffix(&format!(" (os error {code})"));
            format!("[Errno {code}] {}", words.unwrap_or(&text))
        }
        None => text,
    }
}

/// A response that is being read.
pub(super) struct Reading {
    call: Call<Response>,
    /// Whether a streamed response was requested.
    streaming: bool,
    ahead: VecDeque<String>,
    ahead_bytes: usize,
    /// Bytes that may still arrive: a longer text does not fit in a frame.
    room: usize,
    limit: usize,
    /// How the response ended, once it has.
    ended: Option<Result<(), RuntimeError>>,
}

impl Reading {
    pub(super) async fn begin(
        router: &Peer<Request>,
        inference: Inference,
        limit: usize,
    ) -> Result<Self, RuntimeError> {
        Ok(Self {
            streaming: inference.stream,
            call: router.call(Request::Infer(inference)).await?,
            ahead: VecDeque::new(),
            ahead_bytes: 0,
            room: limit,
            limit,
            ended: None,
        })
    }

    /// The next part of the text; `None` at its end.
    pub(super) async fn next(&mut self) -> Result<Option<String>, RuntimeError> {
        loop {
            if let Some(text) = self.ahead.pop_front() {
                self.ahead_bytes -= text.len();
                return Ok(Some(text));
            }
            match self.ended.take() {
                Some(Ok(())) => {
                    self.ended = Some(Ok(()));
                    return Ok(None);
                }
                Some(Err(error)) => return Err(error),
                None => {
                    let received = self.call.next().await;
                    self.keep(received);
                }
            }
        }
    }

    /// Runs `work` while the response keeps arriving: a model whose output is not read for a long time
    /// may hang up.
    pub(super) async fn alongside<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let may_read = self.ended.is_none() && self.ahead_bytes < MAX_READ_AHEAD_BYTES;
            // `Call::next` loses nothing when it is dropped.
            tokio::select! {
                biased;
                result = &mut work => return result,
                received = self.call.next(), if may_read => self.keep(received),
            }
        }
    }

    fn keep(&mut self, received: Result<Option<Response>, CallError>) {
        self.ended = Some(match received {
            Ok(Some(Response::Chunk(text))) => return self.push(text),
            Ok(Some(Response::Done { .. })) => Ok(()),
            Ok(Some(Response::Response { content })) => {
                self.ended = Some(Ok(()));
                return self.push(content);
            }
            Ok(Some(Response::Error(failure))) => Err(RuntimeError::Router {
                streaming: self.streaming,
                message: error_text(failure),
            }),
            Ok(Some(Response::Capabilities { .. } | Response::Other(_))) => {
                Err(RuntimeError::Unexpected("rtr"))
            }
            Ok(None) => Err(CallError::EndedEarly.into()),
            Err(error) => Err(error.into()),
        });
    }

    fn push(&mut self, text: String) {
        let Some(room) = self.room.checked_sub(text.len()) else {
            self.ended = Some(Err(RuntimeError::TooLong(self.limit)));
            return;
        };
        self.room = room;
        self.ahead_bytes += text.len();
        self.ahead.push_back(text);
    }
}

/// The message of an error response.
pub(super) fn error_text(failure: Failure) -> String {
    failure
        .message
        .unwrap_or_else(|| "Unknown error".to_owned())
}

/// Returns the whole text of a response.
pub(super) async fn collect(
    router: &Peer<Request>,
    inference: Inference,
    limit: usize,
) -> Result<String, RuntimeError> {
    let mut repeats = 0;
    loop {
        match collect_once(router, inference.clone(), limit).await {
            Err(error) if error.is_lost() && repeats < MAX_MODEL_CALL_REPEATS => repeats += 1,
            collected => return collected,
        }
    }
}

async fn collect_once(
    router: &Peer<Request>,
    inference: Inference,
    limit: usize,
) -> Result<String, RuntimeError> {
    let mut reading = Reading::begin(router, inference, limit).await?;
    let mut text = String::new();
    while let Some(more) = reading.next().await? {
        text.push_str(&more);
    }
    Ok(text)
}
