//! Lines that wait to be read by a child.

#[cfg(test)]
mod tests;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// How much may be queued for a child that is slow to read.
///
/// Limit: an extension's events are dropped, and requests refused.
const MAX_OUTBOX_BYTES: usize = 1024 * 1024;

/// How long a child may read nothing although something is queued for it.
///
/// Limit: an extension or MCP server that does not read is terminated.
const CHILD_STALL_TIME: Duration = Duration::from_secs(10);

/// Our end of a child's standard input.
///
/// The sender writes a frame directly if the pipe has room: no other task has to wake up first. What
/// the pipe does not take is queued here, up to a limit.
#[derive(Default)]
pub struct Outbox {
    state: Mutex<State>,
    /// Notified when the queue stops being empty.
    filled: Notify,
}

#[derive(Default)]
struct State {
    pipe: Option<Arc<pipe::Sender>>,
    waiting: Vec<u8>,
    /// How much of `waiting` is already written.
    written: usize,
    /// Since when the pipe has taken nothing from the queue.
    stalled_since: Option<Instant>,
}

/// Why a frame was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OutboxSendError {
    #[error("it is not running")]
    NotRunning,
    #[error("it does not read its input")]
    Full,
}

/// Why an outbox cannot write any more.
#[derive(Debug)]
pub enum OutboxEnd {
    /// The child has closed its input.
    Closed(io::Error),
    /// It reads nothing.
    Stalled,
}

impl Outbox {
    pub fn open(&self, pipe: pipe::Sender) {
        *self.lock() = State {
            pipe: Some(Arc::new(pipe)),
            ..State::default()
        };
    }

    /// Closes the child's input; what is queued is lost.
    pub fn close(&self) {
        *self.lock() = State::default();
    }

    /// Writes a complete line, or queues it.
    pub fn send(&self, line: &[u8]) -> Result<(), OutboxSendError> {
        let mut state = self.lock();
        let pipe = state.pipe.clone().ok_or(OutboxSendError::NotRunning)?;
        let backlog = state.waiting.len() - state.written;
        if backlog > 0 {
            if backlog + line.len() > MAX_OUTBOX_BYTES {
                return Err(OutboxSendError::Full);
            }
            state.waiting.extend_from_slice(line);
            return Ok(());
        }
        // An error shows up again when the rest is written, and is handled there.
        let taken = pipe.try_write(line).unwrap_or(0);
        if taken < line.len() {
            state.waiting.clear();
            state.written = 0;
            state.waiting.extend_from_slice(&line[taken..]);
            state.stalled_since = Some(Instant::now());
            self.filled.notify_one();
        }
        Ok(())
    }

    /// Writes what is queued until the outbox fails. Cancel-safe.
    pub async fn drive(&self) -> OutboxEnd {
        loop {
            let (pipe, stalled_since) = {
                let state = self.lock();
                let pipe = state.pipe.clone().filter(|_| !state.is_empty());
                (pipe, state.stalled_since)
            };
            let (Some(pipe), Some(since)) = (pipe, stalled_since) else {
                self.filled.notified().await;
                continue;
            };
            match timeout_at(since + CHILD_STALL_TIME, pipe.writable()).await {
                Err(_) => return OutboxEnd::Stalled,
                Ok(Err(error)) => return OutboxEnd::Closed(error),
                Ok(Ok(())) => {}
            }
            if let Err(error) = self.lock().write(&pipe) {
                return OutboxEnd::Closed(error);
            }
        }
    }

    /// Returns when the queue is empty.
    pub async fn flushed(&self) {
        tokio::select! {
            _ = self.drive() => {}
            () = async {
                while !self.lock().is_empty() {
                    tokio::time::sleep(FLUSH_POLL).await;
                }
            } => {}
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often the end of a flush is checked, which happens once in the life of a child.
const FLUSH_POLL: Duration = Duration::from_millis(1);

impl State {
    fn is_empty(&self) -> bool {
        self.written == self.waiting.len()
    }

    fn write(&mut self, pipe: &pipe::Sender) -> io::Result<()> {
        while !self.is_empty() {
            match pipe.try_write(&self.waiting[self.written..]) {
                Ok(count) => {
                    self.written += count;
                    self.stalled_since = Some(Instant::now());
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.compact();
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        // Release the memory of a long frame.
        self.waiting = Vec::new();
        self.written = 0;
        Ok(())
    }

    /// Drops what is written, rarely enough not to move the rest again and again.
    fn compact(&mut self) {
        if self.written > self.waiting.len() / 2 {
            self.waiting.drain(..self.written);
            self.written = 0;
        }
    }
}
