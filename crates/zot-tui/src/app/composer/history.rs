//! Prompts of this chat and earlier ones.

use std::collections::BTreeMap;

use crate::editor::Draft;

/// How many prompts are kept.
///
/// Limit: the oldest prompt is forgotten.
pub(crate) const MAX_HISTORY_ENTRIES: usize = 1_000;
/// How many bytes are kept, including pastes.
///
/// Limit: the oldest prompt is forgotten.
const MAX_HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// Ordered from oldest to newest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History {
    entries: Vec<Draft>,
    /// The entry in the editor.
    position: Option<usize>,
    /// Edits made while browsing, by index. The draft that browsing began with follows the last entry.
    changed: BTreeMap<usize, Draft>,
}

impl History {
    pub(crate) fn new(entries: Vec<Draft>) -> Self {
        Self {
            entries,
            ..Self::default()
        }
    }

    /// Adds a prompt; returns whether it is new.
    pub(crate) fn push(&mut self, draft: &Draft) -> bool {
        self.stop_browsing();
        if draft.is_blank() || self.entries.last() == Some(draft) {
            return false;
        }
        self.entries.push(draft.clone());
        let mut bytes: usize = self.entries.iter().map(Draft::bytes).sum();
        while self.entries.len() > MAX_HISTORY_ENTRIES || bytes > MAX_HISTORY_BYTES {
            bytes -= self.entries.remove(0).bytes();
        }
        true
    }

    pub(crate) fn older(&mut self, current: Draft) -> Option<Draft> {
        let position = self.position.unwrap_or(self.entries.len());
        self.move_to(position, position.checked_sub(1)?, current)
    }

    pub(crate) fn newer(&mut self, current: Draft) -> Option<Draft> {
        let position = self.position?;
        self.move_to(position, position + 1, current)
    }

    fn move_to(&mut self, from: usize, to: usize, current: Draft) -> Option<Draft> {
        self.changed.insert(from, current);
        let found = self.changed.get(&to).or_else(|| self.entries.get(to));
        self.position = (to < self.entries.len()).then_some(to);
        found.cloned()
    }

    /// Returns all prompts, newest first, without duplicates.
    pub(crate) fn newest_first(&self) -> Vec<&Draft> {
        let mut seen = std::collections::HashSet::new();
        let entries = self.entries.iter().rev();
        entries.filter(|entry| seen.insert(entry.title())).collect()
    }

    pub(crate) fn stop_browsing(&mut self) {
        self.position = None;
        self.changed.clear();
    }
}
