//! The pictures of the conversation, caught as they pass: events only tell of them.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use zot_sdk::conversation::ContentBlock;
use zot_sdk::{AgentEvent, Hooks, Image};

/// Those that nobody has fetched yet.
const MAX_WAITING: usize = 16;

/// A hook that keeps pictures until they are shown.
#[derive(Default)]
pub(super) struct Pictures(Mutex<VecDeque<(String, Image)>>);

impl Pictures {
    /// The pictures of a call's result, or of the prompt when there is no call.
    pub(super) fn take(&self, call_id: &str) -> Vec<Image> {
        let mut waiting = self.lock();
        let (found, others) = waiting.drain(..).partition(|(id, _)| id == call_id);
        *waiting = others;
        let found: VecDeque<(String, Image)> = found;
        found.into_iter().map(|(_, image)| image).collect()
    }

    fn keep(&self, id: &str, content: &[ContentBlock]) {
        for block in content {
            if let ContentBlock::Image(image) = block {
                let mut waiting = self.lock();
                waiting.push_back((id.to_owned(), image.clone()));
                if waiting.len() > MAX_WAITING {
                    waiting.pop_front();
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Image)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Hooks for Pictures {
    fn on_event(&self, event: &AgentEvent) {
        match event {
            AgentEvent::UserMessage(message) => self.keep("", &message.content),
            AgentEvent::ToolFinished { result, .. } => {
                self.keep(&result.call_id.to_string(), &result.content);
            }
            _ => {}
        }
    }
}
