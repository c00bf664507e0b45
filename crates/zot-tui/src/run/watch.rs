//! What happens in the agent without being an event: caught as it passes.

use std::sync::atomic::{AtomicBool, Ordering};

use zot_sdk::{AgentEvent, Hooks};

use super::Pictures;

/// A hook of the runtime, for the chat to look at.
#[derive(Default)]
pub struct Watch {
    pub(super) pictures: Pictures,
    has_compaction: AtomicBool,
}

impl Watch {
    /// Whether a compaction has begun since this was asked last.
    pub(super) fn has_compaction(&self) -> bool {
        self.has_compaction.swap(false, Ordering::Relaxed)
    }
}

impl Hooks for Watch {
    fn on_compaction(&self) {
        self.has_compaction.store(true, Ordering::Relaxed);
    }

    fn on_event(&self, event: &AgentEvent) {
        self.pictures.on_event(event);
    }
}
