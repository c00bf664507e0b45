//! Notices of extensions for the user of the agent.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use zot_wire::extension::PanelContent;

/// How many notices are queued for a front end that does not read them.
///
/// Limit: the notice is dropped and counted.
const MAX_NOTICES: usize = 256;
/// Limit: the notice is dropped and counted.
const MAX_NOTICE_BYTES: usize = 4 * 1024 * 1024;

/// Something for the user, or for the program that embeds the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    Notify {
        extension: String,
        level: String,
        message: String,
    },
    /// A panel was redrawn.
    Panel {
        extension: String,
        panel_id: String,
        content: PanelContent,
    },
    PanelClosed {
        extension: String,
        panel_id: String,
    },
    /// An extension could not be loaded or kept running, as a sentence.
    Problem(String),
}

impl Notice {
    fn bytes(&self) -> usize {
        match self {
            Self::Notify {
                extension,
                level,
                message,
            } => extension.len() + level.len() + message.len(),
            Self::Panel {
                extension,
                panel_id,
                content,
            } => {
                let lines: usize = content.lines.iter().map(|line| line.len() + 24).sum();
                extension.len()
                    + panel_id.len()
                    + content.title.len()
                    + content.footer.len()
                    + lines
            }
            Self::PanelClosed {
                extension,
                panel_id,
            } => extension.len() + panel_id.len(),
            Self::Problem(text) => text.len(),
        }
    }

    /// Returns the extension and the id of the panel that this is about.
    fn panel(&self) -> Option<(&str, &str)> {
        match self {
            Self::Panel {
                extension,
                panel_id,
                ..
            }
            | Self::PanelClosed {
                extension,
                panel_id,
            } => Some((extension, panel_id)),
            _ => None,
        }
    }
}

/// A bounded queue with one reader.
#[derive(Default)]
pub(crate) struct Notices {
    queue: Mutex<Queue>,
    added: Notify,
}

#[derive(Default)]
struct Queue {
    notices: VecDeque<Notice>,
    bytes: usize,
}

impl Notices {
    /// Adds a notice. Returns `false` if the queue is full and the notice is dropped.
    pub(crate) fn push(&self, notice: Notice) -> bool {
        let mut queue = self.lock();
        // A new drawing replaces a queued one, unless the panel was closed in between.
        let superseded = match &notice {
            Notice::Panel { .. } => {
                let same = |queued: &Notice| queued.panel() == notice.panel();
                let last = queue.notices.iter().rposition(same);
                last.filter(|at| matches!(queue.notices[*at], Notice::Panel { .. }))
            }
            _ => None,
        };
        let freed = superseded.and_then(|at| queue.notices.get(at));
        let count = queue.notices.len() - usize::from(freed.is_some());
        let bytes = queue.bytes - freed.map_or(0, Notice::bytes) + notice.bytes();
        if count == MAX_NOTICES || bytes > MAX_NOTICE_BYTES {
            return false;
        }
        if let Some(at) = superseded {
            queue.notices.remove(at);
        }
        queue.bytes = bytes;
        queue.notices.push_back(notice);
        self.added.notify_one();
        true
    }

    pub(crate) fn take(&self) -> Option<Notice> {
        let mut queue = self.lock();
        let notice = queue.notices.pop_front()?;
        queue.bytes -= notice.bytes();
        Some(notice)
    }

    /// Returns the next notice. Cancel-safe.
    pub(crate) async fn next(&self) -> Notice {
        loop {
            if let Some(notice) = self.take() {
                return notice;
            }
            self.added.notified().await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
