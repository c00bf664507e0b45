//! What happens in the agent without being an event: caught as it passes.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zot_sdk::{AgentEvent, Hooks, Retry};

use super::Pictures;
use crate::app::Progress;

/// What nobody has asked for yet.
const MAX_NEWS: usize = 16;

/// A hook of the runtime and a listener of its HTTP client, for the chat to look at.
#[derive(Default)]
pub struct Watch {
    pub(super) pictures: Pictures,
    news: Mutex<VecDeque<Progress>>,
}

impl Watch {
    /// A request is about to be sent again.
    pub fn retrying(&self, retry: Retry) {
        self.add(Progress::Retry {
            wait_ms: u64::try_from(retry.wait.as_millis()).unwrap_or(u64::MAX),
            reason: retry.reason,
        });
    }

    pub(super) fn next(&self) -> Option<Progress> {
        self.lock().pop_front()
    }

    fn add(&self, progress: Progress) {
        let mut news = self.lock();
        news.push_back(progress);
        if news.len() > MAX_NEWS {
            news.pop_front();
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Progress>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hooks for Watch {
    fn on_compaction(&self) {
        self.add(Progress::Compaction);
    }

    fn on_event(&self, event: &AgentEvent) {
        self.pictures.on_event(event);
    }
}
