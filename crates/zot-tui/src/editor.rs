//! What the user is writing: a text of several lines with a cursor, undo and a kill ring.
//!
//! A long paste is one character of the private use area until it is sent: it can be stepped over
//! and deleted as a whole, and is shown as a chip.

mod layout;
#[cfg(test)]
mod tests;

use unicode_segmentation::UnicodeSegmentation as _;

pub use layout::Layout;

/// A paste of more than this becomes a chip.
const CHIP_BYTES: usize = 800;
const CHIP_LINES: usize = 8;
/// Stands for the first chip; the next ones follow it.
const FIRST_CHIP: char = '\u{f0000}';
const MAX_CHIPS: u32 = 0xff00;

const MAX_UNDO: usize = 200;
const MAX_KILLS: usize = 20;

/// What a key does to the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
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
    Up,
    Down,
    DeleteWordLeft,
    DeleteWordRight,
    KillToLineEnd,
    KillToLineStart,
    Yank,
    /// Puts an older kill in the place of the one just yanked.
    YankOlder,
    Undo,
    Redo,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Snapshot {
    text: String,
    cursor: usize,
}

/// What was done last, as far as the next edit minds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Last {
    #[default]
    Other,
    Typing,
    Killing,
    Yanking {
        from: usize,
        kill: usize,
    },
}

#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: String,
    /// A byte offset, between two clusters.
    cursor: usize,
    /// Where the cursor wants to be while it moves up and down.
    wanted_column: Option<usize>,
    undo: Vec<Snapshot>,
    redo: Vec<Snapshot>,
    kills: Vec<String>,
    chips: Vec<String>,
    last: Last,
}

impl Editor {
    /// The text as it is sent: chips are what was pasted.
    pub fn content(&self) -> String {
        let mut content = String::with_capacity(self.text.len());
        for character in self.text.chars() {
            match self.chip(character) {
                Some(pasted) => content.push_str(pasted),
                None => content.push(character),
            }
        }
        content
    }

    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text before the cursor, for whoever completes it.
    pub fn before_cursor(&self) -> &str {
        &self.text[..self.cursor]
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Replaces everything; can be undone.
    pub fn set(&mut self, text: &str) {
        self.remember();
        self.text = text.to_owned();
        self.cursor = self.text.len();
        self.last = Last::Other;
    }

    /// Replaces the `bytes` before the cursor.
    pub fn replace_before(&mut self, bytes: usize, text: &str) {
        self.remember();
        let from = self.cursor.saturating_sub(bytes);
        self.text.replace_range(from..self.cursor, text);
        self.cursor = from + text.len();
        self.last = Last::Other;
    }

    /// Takes what was written and begins anew.
    pub fn take(&mut self) -> String {
        let content = self.content();
        *self = Self {
            kills: std::mem::take(&mut self.kills),
            ..Self::default()
        };
        content
    }

    /// Whether the cursor could not move further up or down within the text.
    pub fn is_at_top(&self) -> bool {
        !self.text[..self.cursor].contains('\n')
    }

    pub fn is_at_bottom(&self) -> bool {
        !self.text[self.cursor..].contains('\n')
    }

    pub fn apply(&mut self, edit: Edit) {
        let vertical = matches!(edit, Edit::Up | Edit::Down);
        if !vertical {
            self.wanted_column = None;
        }
        let last = std::mem::take(&mut self.last);
        match edit {
            Edit::Insert(text) => self.insert(&text, last),
            Edit::Newline => self.insert("\n", Last::Other),
            Edit::Paste(text) => self.paste(&text),
            Edit::Backspace => self.delete(self.previous(), self.cursor),
            Edit::Delete => self.delete(self.cursor, self.next()),
            Edit::Left => self.cursor = self.previous(),
            Edit::Right => self.cursor = self.next(),
            Edit::WordLeft => self.cursor = self.word_before(),
            Edit::WordRight => self.cursor = self.word_after(),
            Edit::LineStart => self.cursor = self.line_start(),
            Edit::LineEnd => self.cursor = self.line_end(),
            Edit::Up => self.move_line(-1),
            Edit::Down => self.move_line(1),
            Edit::DeleteWordLeft => self.kill(self.word_before(), self.cursor, last),
            Edit::DeleteWordRight => self.kill(self.cursor, self.word_after(), last),
            Edit::KillToLineEnd => {
                // At the end of a line, the line break.
                let end = match self.line_end() {
                    end if end == self.cursor => self.next(),
                    end => end,
                };
                self.kill(self.cursor, end, last);
            }
            Edit::KillToLineStart => self.kill(self.line_start(), self.cursor, last),
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
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
        if text != "\n" {
            self.last = Last::Typing;
        }
    }

    fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let is_long = text.len() > CHIP_BYTES || text.lines().count() > CHIP_LINES;
        let index = self.chips.len() as u32;
        let mark = char::from_u32(FIRST_CHIP as u32 + index).filter(|_| index < MAX_CHIPS);
        match mark {
            Some(mark) if is_long => {
                self.chips.push(text);
                self.insert(&mark.to_string(), Last::Other);
            }
            _ => self.insert(&text, Last::Other),
        }
        self.last = Last::Other;
    }

    /// What was pasted where this character stands.
    fn chip(&self, character: char) -> Option<&str> {
        let index = (character as u32).checked_sub(FIRST_CHIP as u32)?;
        self.chips.get(index as usize).map(String::as_str)
    }

    fn delete(&mut self, from: usize, to: usize) {
        if from < to {
            self.remember();
            self.text.replace_range(from..to, "");
            self.cursor = from;
        }
    }

    fn kill(&mut self, from: usize, to: usize, last: Last) {
        if from >= to {
            return;
        }
        let killed = self.text[from..to].to_owned();
        let forward = from == self.cursor;
        match self.kills.last_mut() {
            // Kills in a row are one.
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
        self.delete(from, to);
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
        if self.undo.len() > MAX_UNDO {
            self.undo.remove(0);
        }
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            text: self.text.clone(),
            cursor: self.cursor,
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
        let before = &self.text[..self.cursor];
        let words = before.split_word_bound_indices().rev();
        let mut start = 0;
        for (index, word) in words {
            start = index;
            if is_word(word) {
                break;
            }
        }
        start
    }

    fn word_after(&self) -> usize {
        let after = &self.text[self.cursor..];
        for (index, word) in after.split_word_bound_indices() {
            if is_word(word) {
                return self.cursor + index + word.len();
            }
        }
        self.text.len()
    }

    fn line_start(&self) -> usize {
        self.text[..self.cursor].rfind('\n').map_or(0, |at| at + 1)
    }

    fn line_end(&self) -> usize {
        let rest = self.text[self.cursor..].find('\n');
        rest.map_or(self.text.len(), |at| self.cursor + at)
    }

    fn move_line(&mut self, by: isize) {
        let start = self.line_start();
        let column = self
            .wanted_column
            .unwrap_or_else(|| self.text[start..self.cursor].graphemes(true).count());
        let line_start = match by {
            ..0 => match start.checked_sub(1) {
                Some(end) => self.text[..end].rfind('\n').map_or(0, |at| at + 1),
                None => {
                    self.cursor = 0;
                    return;
                }
            },
            _ => match self.text[self.cursor..].find('\n') {
                Some(at) => self.cursor + at + 1,
                None => {
                    self.cursor = self.text.len();
                    return;
                }
            },
        };
        let line = self.text[line_start..].split('\n').next().unwrap_or("");
        let offset: usize = line.graphemes(true).take(column).map(str::len).sum();
        self.cursor = line_start + offset;
        self.wanted_column = Some(column);
    }
}

fn is_word(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric)
}
