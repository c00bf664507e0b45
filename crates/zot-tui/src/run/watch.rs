//! What happens in the agent without being an event: caught as it passes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;
use zot_sdk::{AgentEvent, BoxFuture, Hooks};

use super::Pictures;

/// A hook of the runtime, for the chat to look at.
#[derive(Default)]
pub struct Watch {
    pub(super) pictures: Pictures,
    has_compaction: AtomicBool,
    /// A limit on steps that is reached, and who waits for an answer.
    step_limit: Mutex<Option<(u64, oneshot::Sender<u64>)>>,
}

impl Watch {
    /// Whether a compaction has begun since this was asked last.
    pub(super) fn has_compaction(&self) -> bool {
        self.has_compaction.swap(false, Ordering::Relaxed)
    }
}

impl Watch {
    /// The limit on steps that was reached since this was asked last, and where the answer goes.
    pub(super) fn step_limit(&self) -> Option<(u64, oneshot::Sender<u64>)> {
        let mut asked = self
            .step_limit
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        asked.take()
    }
}

impl Hooks for Watch {
    fn at_step_limit(&self, limit: u64) -> BoxFuture<'_, u64> {
        let (sender, answer) = oneshot::channel();
        let mut asked = self
            .step_limit
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *asked = Some((limit, sender));
        // Nobody answers any more when the chat ends.
        Box::pin(async { answer.await.unwrap_or(0) })
    }

    fn on_compaction(&self) {
        self.has_compaction.store(true, Ordering::Relaxed);
    }

    fn on_event(&self, event: &AgentEvent) {
        self.pictures.on_event(event);
    }
}
