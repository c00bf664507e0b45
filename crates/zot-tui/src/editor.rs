//! What the user is writing: a text of several lines with a cursor, undo and a kill ring.

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

/// What can be undone, in steps and in bytes.
///
/// Limit: the oldest step is forgotten.
const MAX_UNDO_STEPS: usize = 200;
/// Limit: the oldest step is forgotten.
const MAX_UNDO_BYTES: usize = 4 * 1024 * 1024;
/// Limit: the oldest killed text is forgotten.
const MAX_KILLS: usize = 20;

/// A longer text from elsewhere is shown as a chip: laying it out would slow every key down.
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
    /// Exchanges the two clusters around the cursor.
    Transpose,
    DeleteWordLeft,
    DeleteWordRight,
    /// Deletes back to a blank.
    DeleteUnbrokenLeft,
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
enum Last {
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
    /// Where the cursor wants to be while it moves up and down.
    wanted_column: Option<usize>,
    undo: Vec<Snapshot>,
    redo: Vec<Snapshot>,
    kills: Vec<String>,
    chips: Vec<Chip>,
    /// The mark of the newest chip.
    last_mark: Option<char>,
    /// The first character was pasted, so it does not begin a command.
    begins_pasted: bool,
    has_paste: bool,
    last: Last,
}

impl Editor {
    /// The text as it is sent, with the pastes in place of their chips.
    pub(crate) fn content(&self) -> String {
        self.draft().content()
    }

    /// A copy of the text with its chips.
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

    /// Whether the text begins with a paste.
    pub(crate) fn begins_pasted(&self) -> bool {
        self.begins_pasted
    }

    /// The text before the cursor.
    pub(crate) fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Replaces everything; can be undone.
    pub(crate) fn set(&mut self, draft: impl Into<Draft>) {
        let draft = draft.into();
        self.remember();
        let chips = draft.chips.into_iter();
        let marks: Vec<_> = chips
            .map(|chip| (chip.mark, self.mark_for(chip.text)))
            .collect();
        let own = |mark: char| {
            let found = marks.iter().find(|(theirs, _)| *theirs == mark);
            found.map_or(Some(mark), |(_, own)| *own)
        };
        self.text = draft.text.chars().filter_map(own).collect();
        self.begins_pasted = draft.begins_pasted;
        self.has_paste = self.begins_pasted;
        self.cursor = self.text.len();
        self.wanted_column = None;
        self.last = Last::Other;
    }

    /// Adds a line below, with its chips; undone together with the edit before.
    pub(crate) fn append_line(&mut self, draft: Draft) {
        let upper = self.text.clone();
        self.set(draft);
        self.undo.pop();
        self.text.insert_str(0, &format!("{upper}\n"));
        self.cursor = self.text.len();
    }

    /// Replaces everything with an edited [`content`](Self::content). Pastes that
    /// are still in it stay chips.
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
            draft = paste::chip_of_all(draft.content());
        }
        self.set(draft);
    }

    /// Replaces the `bytes` before the cursor.
    pub(crate) fn replace_before(&mut self, bytes: usize, text: &str) {
        self.remember();
        let from = self.cursor.saturating_sub(bytes);
        self.text.replace_range(from..self.cursor, text);
        self.cursor = from + text.len();
        self.last = Last::Other;
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
        self.wanted_column = None;
        let last = std::mem::take(&mut self.last);
        match edit {
            Edit::Insert(text) => {
                self.insert(&paste::without_marks(&text), last);
            }
            Edit::Newline => self.insert("\n", Last::Other),
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
            Edit::DeleteUnbrokenLeft => {
                let start = words::start_of_last_unbroken(self.before_cursor());
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
            Edit::Undo => self.exchange(true),
            Edit::Redo => self.exchange(false),
        }
    }

    fn insert(&mut self, text: &str, last: Last) {
        // A word is undone as a whole.
        let begins_word = text.starts_with(char::is_whitespace);
        if last != Last::Typing || begins_word {
            self.remember();
        }
        if self.cursor == 0 && !text.is_empty() {
            self.begins_pasted = false;
        }
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        if text != "\n" {
            self.last = Last::Typing;
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
        self.insert(mark.as_deref().unwrap_or(&text), Last::Other);
        self.begins_pasted |= is_first;
        self.has_paste = true;
        self.last = Last::Other;
    }

    /// The mark of the chip for `text`, which is created if necessary. `None` when there are too
    /// many already.
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

    /// The chip that this cluster stands for.
    fn chip_of(&self, cluster: &str) -> Option<&Chip> {
        let mark = cluster.chars().next().filter(|c| draft::is_mark(*c))?;
        self.chips.iter().find(|chip| chip.mark == mark)
    }

    fn delete(&mut self, from: usize, to: usize, last: Last) {
        if from >= to {
            return;
        }
        if last != Last::Deleting {
            self.remember();
        }
        self.remove(from, to);
        self.last = Last::Deleting;
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
        if from == 0 {
            // The text begins elsewhere now, and whether that was pasted is unknown.
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
        let exchanged = format!("{after}{before}");
        self.text.replace_range(from..to, &exchanged);
        self.cursor = to;
    }

    fn kill(&mut self, from: usize, to: usize, last: Last) {
        if from >= to {
            return;
        }
        let killed = self.text[from..to].to_owned();
        let forward = from == self.cursor;
        match self.kills.last_mut() {
            // Consecutive kills are one.
            Some(kill) if last == Last::Killing => match forward {
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
        self.last = Last::Killing;
    }

    fn yank(&mut self) {
        let Some(kill) = self.kills.last().cloned() else {
            return;
        };
        let from = self.cursor;
        self.insert(&kill, Last::Other);
        self.last = Last::Yanking {
            from,
            kill: self.kills.len() - 1,
        };
    }

    fn yank_older(&mut self, last: Last) {
        let Last::Yanking { from, kill } = last else {
            return;
        };
        let kill = kill.checked_sub(1).unwrap_or(self.kills.len() - 1);
        let Some(text) = self.kills.get(kill).cloned() else {
            return;
        };
        self.text.replace_range(from..self.cursor, &text);
        self.cursor = from + text.len();
        self.last = Last::Yanking { from, kill };
    }

    fn remember(&mut self) {
        self.redo.clear();
        self.undo.push(self.snapshot());
        let mut bytes: usize = self.undo.iter().map(|kept| kept.text.len()).sum();
        while self.undo.len() > MAX_UNDO_STEPS || bytes > MAX_UNDO_BYTES {
            bytes -= self.undo.remove(0).text.len();
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            text: self.text.clone(),
            cursor: self.cursor,
            begins_pasted: self.begins_pasted,
        }
    }

    fn exchange(&mut self, back: bool) {
        let now = self.snapshot();
        let (from, to) = match back {
            true => (&mut self.undo, &mut self.redo),
            false => (&mut self.redo, &mut self.undo),
        };
        if let Some(snapshot) = from.pop() {
            to.push(now);
            self.text = snapshot.text;
            self.cursor = snapshot.cursor;
            self.begins_pasted = snapshot.begins_pasted;
        }
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
