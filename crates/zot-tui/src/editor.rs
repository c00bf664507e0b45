//! The text editor: several lines with a cursor, undo and a kill ring.

mod draft;
mod layout;
mod paste;
#[cfg(test)]
mod tests;
mod words;

use std::sync::Arc;

use unicode_segmentation::UnicodeSegmentation as _;

use draft::Chip;
pub(crate) use draft::Draft;

/// How many steps can be undone.
///
/// Limit: the oldest step is forgotten.
const MAX_UNDO_STEPS: usize = 200;
/// How much text can be undone.
///
/// Limit: the oldest step is forgotten.
const MAX_UNDO_BYTES: usize = 4 * 1024 * 1024;
/// Limit: the oldest killed text is forgotten.
const MAX_KILLS: usize = 20;

/// A longer text from elsewhere is shown as a chip: laying it out would slow down every key.
///
/// Limit: a longer text from `$EDITOR` is shown as a chip.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// What a key does to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    Insert(String),
    Paste(String),
    Newline,
    Backspace,
    Delete,
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    TextStart,
    TextEnd,
    /// Swaps the two clusters around the cursor.
    Transpose,
    DeleteWordLeft,
    DeleteWordRight,
    /// Deletes back to whitespace.
    DeleteToSpaceLeft,
    KillToLineEnd,
    KillToLineStart,
    Yank,
    /// Replaces the text just yanked with an older kill.
    YankOlder,
    Undo,
    Redo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    text: String,
    cursor: usize,
    begins_pasted: bool,
}

/// The last edit, as far as the next one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LastEdit {
    #[default]
    Other,
    Typing,
    Deleting,
    Killing,
    Yanking {
        from: usize,
        kill: usize,
    },
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Editor {
    text: String,
    /// A byte offset, between two clusters.
    cursor: usize,
    /// The column to keep to while the cursor moves up and down.
    preferred_column: Option<usize>,
    undo_steps: Vec<Snapshot>,
    redo_steps: Vec<Snapshot>,
    kills: Vec<String>,
    chips: Vec<Chip>,
    /// The mark of the newest chip.
    last_mark: Option<char>,
    /// The first character was pasted, so it does not begin a command.
    begins_pasted: bool,
    has_paste: bool,
    last: LastEdit,
}

impl Editor {
    /// Returns the text as it is sent, with pastes instead of their chips.
    pub(crate) fn content(&self) -> String {
        self.draft().content()
    }

    /// Returns a copy of the text with its chips.
    pub(crate) fn draft(&self) -> Draft {
        let used = |chip: &&Chip| self.text.contains(chip.mark);
        Draft {
            text: self.text.clone(),
            chips: self.chips.iter().filter(used).cloned().collect(),
            begins_pasted: self.begins_pasted,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns whether the text begins with a paste.
    pub(crate) fn begins_pasted(&self) -> bool {
        self.begins_pasted
    }

    /// Returns the text before the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces everything as one undoable step.
    pub(crate) fn set(&mut self, draft: impl Into<Draft>) {
        let draft = draft.into();
        self.remember();
        let chips = draft.chips.into_iter();
        let marks: Vec<_> = chips
            .map(|chip| (chip.mark, self.mark_for(chip.text)))
            .collect();
        let renumbered = |mark: char| {
            let found = marks.iter().find(|(old, _)| *old == mark);
            found.map_or(Some(mark), |(_, new)| *new)
        };
        self.text = draft.text.chars().filter_map(renumbered).collect();
        self.begins_pasted = draft.begins_pasted;
        self.has_paste = self.begins_pasted;
        self.cursor = self.text.len();
        self.preferred_column = None;
        self.last = LastEdit::Other;
    }

    /// Adds a line below, with its chips, as part of the previous undo step.
    pub(crate) fn append_line(&mut self, draft: Draft) {
        let above = self.text.clone();
        self.set(draft);
        self.undo_steps.pop();
        self.text.insert_str(0, &format!("{above}\n"));
        self.cursor = self.text.len();
    }

    /// Replaces everything with an edited [`content`](Self::content). Pastes that it
    /// still contains stay chips.
    pub(crate) fn set_edited(&mut self, mut text: String) {
        let Draft { chips, .. } = self.draft();
        for chip in &chips {
            text = text.replacen(&*chip.text, &chip.mark.to_string(), 1);
        }
        let mut draft = Draft {
            text,
            chips,
            begins_pasted: false,
        };
        if draft.text.len() > MAX_INLINE_BYTES {
            draft = paste::single_chip(draft.content());
        }
        self.set(draft);
    }

    /// Replaces the `bytes` before the cursor.
    pub(crate) fn replace_before(&mut self, bytes: usize, text: &str) {
        self.remember();
        let from = self.cursor.saturating_sub(bytes);
        self.text.replace_range(from..self.cursor, text);
        self.cursor = from + text.len();
        self.last = LastEdit::Other;
    }

    /// Takes the text and clears the editor.
    pub(crate) fn take(&mut self) -> Draft {
        let draft = self.draft();
        // Killed text can still be yanked, with the pastes in it.
        let kills = std::mem::take(&mut self.kills);
        let mut chips = std::mem::take(&mut self.chips);
        chips.retain(|chip| kills.iter().any(|kill| kill.contains(chip.mark)));
        *self = Self {
            kills,
            chips,
            last_mark: self.last_mark,
            ..Self::default()
        };
        draft
    }

    pub(crate) fn apply(&mut self, edit: Edit) {
        self.preferred_column = None;
        let last = std::mem::take(&mut self.last);
        match edit {
            Edit::Insert(text) => {
                self.insert(&paste::without_marks(&text), last);
            }
            Edit::Newline => self.insert("\n", LastEdit::Other),
            Edit::Paste(text) => self.paste(&text),
            Edit::Backspace => self.delete(self.previous(), self.cursor, last),
            Edit::Delete => self.delete(self.cursor, self.next(), last),
            Edit::Left => self.cursor = self.previous(),
            Edit::Right => self.cursor = self.next(),
            Edit::WordLeft => self.cursor = self.word_before(),
            Edit::WordRight => self.cursor = self.word_after(),
            Edit::LineStart => self.cursor = self.line_start(),
            Edit::LineEnd => self.cursor = self.line_end(),
            Edit::TextStart => self.cursor = 0,
            Edit::TextEnd => self.cursor = self.text.len(),
            Edit::Transpose => self.transpose(),
            Edit::DeleteWordLeft => self.kill(self.word_before(), self.cursor, last),
            Edit::DeleteWordRight => self.kill(self.cursor, self.word_after(), last),
            Edit::DeleteToSpaceLeft => {
                let start = words::start_of_last_run(self.before_cursor());
                self.kill(start, self.cursor, last);
            }
            Edit::KillToLineEnd => {
                // At the end of a line, the line break.
                let end = match self.line_end() {
                    end if end == self.cursor => self.next(),
                    end => end,
                };
                self.kill(self.cursor, end, last);
            }
            Edit::KillToLineStart => {
                // At the beginning of a line, the line break.
                let start = match self.line_start() {
                    start if start == self.cursor => self.previous(),
                    start => start,
                };
                self.kill(start, self.cursor, last);
            }
            Edit::Yank => self.yank(),
            Edit::YankOlder => self.yank_older(last),
            Edit::Undo => self.undo(),
            Edit::Redo => self.redo(),
        }
    }

    fn insert(&mut self, text: &str, last: LastEdit) {
        // A whole word is undone at once.
        let begins_word = text.starts_with(char::is_whitespace);
        if last != LastEdit::Typing || begins_word {
            self.remember();
        }
        if self.cursor == 0 && !text.is_empty() {
            self.begins_pasted = false;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        if text != "\n" {
            self.last = LastEdit::Typing;
        }
    }

    fn paste(&mut self, text: &str) {
        let text = paste::normalised(text);
        if text.is_empty() {
            return;
        }
        let is_first = self.cursor == 0;
        let mark = match draft::is_long(&text) {
            true => self.mark_for(text.as_str().into()),
            false => None,
        };
        let mark = mark.map(String::from);
        self.insert(mark.as_deref().unwrap_or(&text), LastEdit::Other);
        self.begins_pasted |= is_first;
        self.has_paste = true;
        self.last = LastEdit::Other;
    }

    /// Returns the mark of the chip for `text`, which is created if necessary, or `None` when there
    /// are too many.
    fn mark_for(&mut self, text: Arc<str>) -> Option<char> {
        let same = |chip: &&Chip| Arc::ptr_eq(&chip.text, &text);
        if let Some(chip) = self.chips.iter().find(same) {
            return Some(chip.mark);
        }
        let mark = match self.last_mark {
            None => draft::FIRST_MARK,
            Some(last) => draft::mark_after(last)?,
        };
        self.last_mark = Some(mark);
        self.chips.push(Chip::new(mark, text));
        Some(mark)
    }

    /// Returns the chip that this cluster marks.
    fn chip_of(&self, cluster: &str) -> Option<&Chip> {
        let mark = cluster.chars().next().filter(|c| draft::is_mark(*c))?;
        self.chips.iter().find(|chip| chip.mark == mark)
    }

    fn delete(&mut self, from: usize, to: usize, last: LastEdit) {
        if from >= to {
            return;
        }
        if last != LastEdit::Deleting {
            self.remember();
        }
        self.remove(from, to);
        self.last = LastEdit::Deleting;
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        if from == 0 {
            // Whether the new beginning of the text was pasted is unknown.
            self.begins_pasted = self.has_paste && !self.text.is_empty();
        }
    }

    fn transpose(&mut self) {
        // At the end of a line, the last two.
        if self.cursor == self.line_end() {
            self.cursor = self.previous().max(self.line_start());
        }
        let (from, to) = (self.previous(), self.next());
        if from < self.line_start() || from == self.cursor || to == self.cursor {
            return;
        }
        self.remember();
        let (before, after) = self.text[from..to].split_at(self.cursor - from);
        let swapped = format!("{after}{before}");
        self.text.replace_range(from..to, &swapped);
        self.cursor = to;
    }

    fn kill(&mut self, from: usize, to: usize, last: LastEdit) {
        if from >= to {
            return;
        }
        let killed = self.text[from..to].to_owned();
        let is_forward = from == self.cursor;
        match self.kills.last_mut() {
            // Consecutive kills are joined.
            Some(kill) if last == LastEdit::Killing => match is_forward {
                true => kill.push_str(&killed),
                false => kill.insert_str(0, &killed),
            },
            _ => {
                self.kills.push(killed);
                if self.kills.len() > MAX_KILLS {
                    self.kills.remove(0);
                }
            }
        }
        self.remember();
        self.remove(from, to);
        self.last = LastEdit::Killing;
    }

    fn yank(&mut self) {
        let Some(kill) = self.kills.last().cloned() else {
            return;
        };
        let from = self.cursor;
        self.insert(&kill, LastEdit::Other);
        self.last = LastEdit::Yanking {
            from,
            kill: self.kills.len() - 1,
        };
    }

    fn yank_older(&mut self, last: LastEdit) {
        let LastEdit::Yanking { from, kill } = last else {
            return;
        };
        let kill = kill.checked_sub(1).unwrap_or(self.kills.len() - 1);
        let Some(text) = self.kills.get(kill).cloned() else {
            return;
        };
        self.text.replace_range(from..self.cursor, &text);
        self.cursor = from + text.len();
        self.last = LastEdit::Yanking { from, kill };
    }

    fn remember(&mut self) {
        self.redo_steps.clear();
        self.undo_steps.push(self.snapshot());
        let mut bytes: usize = self
            .undo_steps
            .iter()
            .map(|snapshot| snapshot.text.len())
            .sum();
        while self.undo_steps.len() > MAX_UNDO_STEPS || bytes > MAX_UNDO_BYTES {
            bytes -= self.undo_steps.remove(0).text.len();
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            text: self.text.clone(),
            cursor: self.cursor,
            begins_pasted: self.begins_pasted,
        }
    }

    fn undo(&mut self) {
        if let Some(snapshot) = self.undo_steps.pop() {
            self.redo_steps.push(self.snapshot());
            self.restore(snapshot);
        }
    }

    fn redo(&mut self) {
        if let Some(snapshot) = self.redo_steps.pop() {
            self.undo_steps.push(self.snapshot());
            self.restore(snapshot);
        }
    }

    fn restore(&mut self, snapshot: Snapshot) {
        self.text = snapshot.text;
        self.cursor = snapshot.cursor;
        self.begins_pasted = snapshot.begins_pasted;
    }

    fn previous(&self) -> usize {
        let before = self.text[..self.cursor].grapheme_indices(true).next_back();
        before.map_or(0, |(index, _)| index)
    }

    fn next(&self) -> usize {
        let after = self.text[self.cursor..].graphemes(true).next();
        self.cursor + after.map_or(0, str::len)
    }

    fn word_before(&self) -> usize {
        words::start_of_last(self.before_cursor())
    }

    fn word_after(&self) -> usize {
        self.cursor + words::end_of_first(&self.text[self.cursor..])
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let rest = self.text[self.cursor..].find('\n');
        rest.map_or(self.text.len(), |at| self.cursor + at)
    }
}
