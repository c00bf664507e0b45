//! A text as the user wrote it, with its long pastes.
//!
//! A long paste is one character of the private use area: it can be stepped over and deleted as a
//! whole, survives undo and history, and is shown as a chip.

use std::sync::Arc;

/// A paste of more than this becomes a chip.
const CHIP_BYTES: usize = 800;
const CHIP_LINES: usize = 8;

/// Characters that mark chips: the last plane, which icon fonts do not use.
pub(super) const FIRST_MARK: char = '\u{100000}';
const LAST_MARK: char = '\u{10fffd}';

/// A long paste.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chip {
    pub(super) mark: char,
    pub(super) text: Arc<str>,
    /// The label, kept because counting the lines of a long paste takes time.
    pub(super) label: Arc<str>,
}

impl Chip {
    pub(super) fn new(mark: char, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let label = match text.lines().count() {
            0 | 1 => {
                let line = text.trim_end_matches('\n');
                format!("[pasted {} characters]", line.chars().count())
            }
            lines => format!("[pasted {lines} lines]"),
        };
        Self {
            mark,
            text,
            label: label.into(),
        }
    }
}

/// A text with its chips, as the user wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    pub(super) text: String,
    pub(super) chips: Vec<Chip>,
    /// It begins with a paste, which is never taken for a command.
    pub(super) begins_pasted: bool,
}

impl Draft {
    /// Restores a draft from a file, where the marks of the chips count up from [`FIRST_MARK`].
    pub(crate) fn restored(text: String, pasted: Vec<String>, begins_pasted: bool) -> Self {
        let marks = (FIRST_MARK..=LAST_MARK).zip(pasted);
        let chips: Vec<Chip> = marks.map(|(mark, text)| Chip::new(mark, text)).collect();
        let is_known = |mark: char| chips.iter().any(|chip| chip.mark == mark);
        let text = text
            .chars()
            .filter(|c| !is_mark(*c) || is_known(*c))
            .collect();
        Self {
            text,
            chips,
            begins_pasted,
        }
    }

    /// Returns what is written to a file: the text with marks, and the pastes they mark.
    pub(crate) fn parts(&self) -> (String, Vec<&str>) {
        let mut pasted = Vec::new();
        let mut marks = FIRST_MARK..=LAST_MARK;
        let mut text = String::with_capacity(self.text.len());
        for character in self.text.chars() {
            match self.chip(character).zip(marks.clone().next()) {
                Some((chip, mark)) => {
                    marks.next();
                    pasted.push(&*chip.text);
                    text.push(mark);
                }
                None => text.push(character),
            }
        }
        (text, pasted)
    }

    /// Returns the text as it is sent, with pastes instead of their chips.
    pub(crate) fn content(&self) -> String {
        let mut content = String::with_capacity(self.bytes());
        for character in self.text.chars() {
            match self.chip(character) {
                Some(chip) => content.push_str(&chip.text),
                None => content.push(character),
            }
        }
        content
    }

    /// Returns the text without its chips.
    pub(crate) fn without_chips(&self) -> String {
        self.text.chars().filter(|c| !is_mark(*c)).collect()
    }

    /// Returns the text as the editor shows it, with labels for the chips.
    pub(crate) fn shown(&self) -> String {
        let mut shown = String::with_capacity(self.text.len());
        for character in self.text.chars() {
            match self.chip(character) {
                Some(chip) => shown.push_str(&chip.label),
                None => shown.push(character),
            }
        }
        shown
    }

    /// Returns one line that identifies the draft in a list.
    pub(crate) fn title(&self) -> String {
        let mut title = String::new();
        for character in self.text.trim().chars() {
            match (self.chip(character), character) {
                (Some(chip), _) => title.push_str(&chip.label),
                (None, '\n') => title.push_str(" ⏎ "),
                (None, character) => title.push(character),
            }
        }
        title
    }

    pub(crate) fn has_chips(&self) -> bool {
        !self.chips.is_empty()
    }

    pub(crate) fn begins_pasted(&self) -> bool {
        self.begins_pasted
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// Returns the size of the text as it is sent.
    pub(crate) fn bytes(&self) -> usize {
        let chips: usize = self.chips.iter().map(|chip| chip.text.len()).sum();
        self.text.len() + chips
    }

    fn chip(&self, mark: char) -> Option<&Chip> {
        match is_mark(mark) {
            true => self.chips.iter().find(|chip| chip.mark == mark),
            false => None,
        }
    }
}

impl From<String> for Draft {
    fn from(text: String) -> Self {
        Self::restored(text, Vec::new(), false)
    }
}

impl From<&str> for Draft {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

pub(super) fn is_mark(character: char) -> bool {
    (FIRST_MARK..=LAST_MARK).contains(&character)
}

/// Returns the mark after `mark`, if there is one left.
pub(super) fn mark_after(mark: char) -> Option<char> {
    char::from_u32(mark as u32 + 1).filter(|next| is_mark(*next))
}

/// Returns whether a paste becomes a chip.
pub(super) fn is_long(pasted: &str) -> bool {
    pasted.len() > CHIP_BYTES || pasted.lines().nth(CHIP_LINES).is_some()
}
