//! Prompts written before, this time and earlier.

/// How many are kept.
pub(crate) const MAX_ENTRIES: usize = 1_000;

/// The newest is the last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    entries: Vec<String>,
    /// Where in the past the editor is, and what was being written before it went there.
    place: Option<(usize, String)>,
}

impl History {
    pub fn new(entries: Vec<String>) -> Self {
        Self {
            entries,
            place: None,
        }
    }

    /// Adds a prompt; returns whether it is new.
    pub(crate) fn push(&mut self, text: &str) -> bool {
        self.place = None;
        if text.trim().is_empty() || self.entries.last().is_some_and(|last| last == text) {
            return false;
        }
        self.entries.push(text.to_owned());
        if self.entries.len() > MAX_ENTRIES {
            self.entries.remove(0);
        }
        true
    }

    pub(crate) fn older(&mut self, current: &str) -> Option<String> {
        let (place, draft) = match self.place.take() {
            Some((place, draft)) => (place, draft),
            None => (self.entries.len(), current.to_owned()),
        };
        let Some(older) = place.checked_sub(1) else {
            self.place = (place < self.entries.len()).then_some((place, draft));
            return None;
        };
        self.place = Some((older, draft));
        self.entries.get(older).cloned()
    }

    pub(crate) fn newer(&mut self) -> Option<String> {
        let (place, draft) = self.place.take()?;
        match self.entries.get(place + 1) {
            Some(entry) => {
                let entry = entry.clone();
                self.place = Some((place + 1, draft));
                Some(entry)
            }
            None => Some(draft),
        }
    }

    pub(crate) fn leave(&mut self) {
        self.place = None;
    }
}
