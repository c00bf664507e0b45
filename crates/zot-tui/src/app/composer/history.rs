//! Prompts of this chat and earlier ones.

use std::collections::BTreeMap;

use crate::editor::Draft;

/// How many are kept.
///
/// Limit: the oldest prompt is forgotten.
pub(crate) const MAX_HISTORY_ENTRIES: usize = 1_000;
/// How much is kept, with what was pasted.
///
/// Limit: the oldest prompt is forgotten.
const MAX_HISTORY_BYTES: usize = 64 * 1024 * 1024;

/// The newest prompt is the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct History {
    entries: Vec<Draft>,
    /// The entry that is in the editor.
    place: Option<usize>,
    /// Entries that were edited on the way; behind the last entry, the draft it started from.
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
        self.leave();
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
        let place = self.place.unwrap_or(self.entries.len());
        self.go(place, place.checked_sub(1)?, current)
    }

    pub(crate) fn newer(&mut self, current: Draft) -> Option<Draft> {
        let place = self.place?;
        self.go(place, place + 1, current)
    }

    fn go(&mut self, from: usize, to: usize, current: Draft) -> Option<Draft> {
        self.changed.insert(from, current);
        let found = self.changed.get(&to).or_else(|| self.entries.get(to));
        self.place = (to < self.entries.len()).then_some(to);
        found.cloned()
    }

    /// All prompts, newest first, without duplicates.
    pub(crate) fn newest_first(&self) -> Vec<&Draft> {
        let mut seen = std::collections::HashSet::new();
        let entries = self.entries.iter().rev();
        entries.filter(|entry| seen.insert(entry.title())).collect()
    }

    pub(crate) fn leave(&mut self) {
        self.place = None;
        self.changed.clear();
    }
}
