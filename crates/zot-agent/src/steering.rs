//! Messages that reach a prompt while it runs.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zot_conversation::ContentBlock;

/// How many messages may wait for delivery.
///
/// Limit: `steer` is refused.
const MAX_STEERING_MESSAGES: usize = 64;

/// A steering message that was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    #[error("nothing is running: send a prompt")]
    NotRunning,
    #[error("{MAX_STEERING_MESSAGES} steering messages are waiting already")]
    TooMany,
}

/// The messages waiting to be delivered to the running prompt.
#[derive(Default)]
pub(crate) struct Steering(Mutex<State>);

#[derive(Default)]
struct State {
    /// Whether a running prompt will deliver them.
    open: bool,
    waiting: VecDeque<Vec<ContentBlock>>,
}

impl Steering {
    pub(crate) fn open(&self) {
        self.lock().open = true;
    }

    pub(crate) fn push(&self, content: Vec<ContentBlock>) -> Result<(), SteerError> {
        let mut state = self.lock();
        if !state.open {
            return Err(SteerError::NotRunning);
        }
        if state.waiting.len() >= MAX_STEERING_MESSAGES {
            return Err(SteerError::TooMany);
        }
        state.waiting.push_back(content);
        Ok(())
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().waiting.is_empty()
    }

    pub(crate) fn take(&self) -> Option<Vec<ContentBlock>> {
        self.lock().waiting.pop_front()
    }

    /// Closes when the prompt is complete, unless a message still waits: an accepted message must be
    /// delivered.
    pub(crate) fn close_if_empty(&self) -> bool {
        let mut state = self.lock();
        if state.waiting.is_empty() {
            state.open = false;
        }
        !state.open
    }

    /// Closes when the prompt cannot continue, and returns the messages that were not delivered.
    pub(crate) fn close(&self) -> VecDeque<Vec<ContentBlock>> {
        let mut state = self.lock();
        state.open = false;
        std::mem::take(&mut state.waiting)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
