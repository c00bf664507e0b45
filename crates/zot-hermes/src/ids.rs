//! Ids for the calls of models that assign none.

use std::sync::atomic::{AtomicU64, Ordering};

use zot_conversation::ToolCallId;

const PREFIX: &str = "hermes_";

/// Counts calls: `hermes_1`, `hermes_2`, …
#[derive(Debug, Default)]
pub(crate) struct CallIds {
    last: AtomicU64,
}

impl CallIds {
    pub(crate) fn next(&self) -> ToolCallId {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        format!("{PREFIX}{number}").into()
    }

    /// Notes an id of the conversation, so that it is not assigned again.
    pub(crate) fn note(&self, id: &ToolCallId) {
        // Larger numbers were not assigned here, and would leave no room for others.
        let number = id
            .as_str()
            .strip_prefix(PREFIX)
            .and_then(|number| number.parse::<u32>().ok());
        if let Some(number) = number {
            self.last.fetch_max(u64::from(number), Ordering::Relaxed);
        }
    }
}
