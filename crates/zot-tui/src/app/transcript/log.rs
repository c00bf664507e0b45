//! The items of the transcript, kept to be redrawn: folded, in other colours, at another width.

use std::collections::VecDeque;

use super::Item;

/// Size of the kept items: more lines than any terminal keeps.
///
/// Limit: after a resize, a note says that the beginning is in the session.
const MAX_REDRAWN_BYTES: usize = 2 * 1024 * 1024;

/// Size of the kept images, each of which takes as much as a long conversation.
///
/// Limit: older images are described when the screen is redrawn.
const MAX_DRAWN_IMAGES_BYTES: usize = 4 * 1024 * 1024;

#[derive(Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    bytes: usize,
    /// How many items were ever added.
    total: u64,
    /// Older items were dropped.
    pub(crate) is_cut: bool,
}

pub(crate) struct Entry {
    pub(crate) item: Item,
    /// How many rows it took on the screen.
    pub(crate) rows: usize,
}

impl Log {
    pub(crate) fn push(&mut self, item: Item, rows: usize) {
        self.bytes += item.bytes();
        self.total += 1;
        self.entries.push_back(Entry { item, rows });
        while self.bytes > MAX_REDRAWN_BYTES && self.entries.len() > 1 {
            if let Some(oldest) = self.entries.pop_front() {
                self.bytes -= oldest.item.bytes();
                self.is_cut = true;
            }
        }
    }

    /// Drops the drawings of the oldest images.
    pub(crate) fn limit_images(&mut self) {
        self.forget_images_beyond(MAX_DRAWN_IMAGES_BYTES);
    }

    /// Drops the drawings of all images.
    pub(crate) fn forget_images(&mut self) {
        self.forget_images_beyond(0);
    }

    fn forget_images_beyond(&mut self, mut room: usize) {
        for entry in self.entries.iter_mut().rev() {
            if let Item::Image(drawing) = &mut entry.item {
                match room.checked_sub(drawing.sequence.len()) {
                    Some(left) => room = left,
                    None => {
                        room = 0;
                        drawing.sequence = "".into();
                    }
                }
            }
        }
    }

    /// Returns how many items were ever added, including dropped ones.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<&Entry> {
        self.entries.get(index)
    }

    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().rev()
    }

    pub(crate) fn set_rows(&mut self, index: usize, rows: usize) {
        if let Some(entry) = self.entries.get_mut(index) {
            entry.rows = rows;
        }
    }

    /// Returns the entry in which the last `rows` rows begin, and how many rows follow from its start.
    pub(crate) fn find_from_end(&self, rows: usize) -> (usize, usize) {
        let mut first = self.entries.len();
        let mut counted = 0;
        while counted < rows && first > 0 {
            first -= 1;
            counted += self.entries[first].rows;
        }
        (first, counted)
    }
}
