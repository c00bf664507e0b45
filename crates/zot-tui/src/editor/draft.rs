//! A text that was written, with the long pastes in it.
//!
//! A long paste is one character of the private use area: it can be stepped over and deleted as a
//! whole, survives undo and history, and is shown as a chip.

use std::sync::Arc;

/// A paste of more than this becomes a chip.
const CHIP_BYTES: usize = 800;
const CHIP_LINES: usize = 8;

/// Characters that stand for chips: the last plane, which fonts with icons leave alone.
pub(super) const FIRST_MARK: char = '\u{100000}';
const LAST_MARK: char = '\u{10fffd}';

/// What was pasted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chip {
    pub(super) mark: char,
    pub(super) text: Arc<str>,
    /// The label; made once, because counting the lines of a long paste takes time.
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

/// A text with its chips, as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Draft {
    pub(super) text: String,
    pub(super) chips: Vec<Chip>,
    /// It begins with something pasted, which is neither a command nor a program to run.
    pub(super) begins_pasted: bool,
}

impl Draft {
    /// Restores a draft from a file, where the marks of the chips count up from [`FIRST_MARK`].
    pub(crate) fn restored(text: String, pasted: Vec<String>, begins_pasted: bool) -> Self {
        let marks = (FIRST_MARK..=LAST_MARK).zip(pasted);
        let chips: Vec<Chip> = marks.map(|(mark, text)| Chip::new(mark, text)).collect();
        let known = |mark: char| chips.iter().any(|chip| chip.mark == mark);
        let text = text.chars().filter(|c| !is_mark(*c) || known(*c)).collect();
        Self {
            text,
            chips,
            begins_pasted,
        }
    }

    /// The parts that are written to a file: the text with marks, and what they stand for.
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

    /// The text as it is sent, with the pastes in place of their chips.
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

    /// The text without its chips.
    pub(crate) fn without_chips(&self) -> String {
        self.text.chars().filter(|c| !is_mark(*c)).collect()
    }

    /// The text as the editor shows it, with labels for the chips.
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

    /// One line that identifies the draft in a list.
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

    /// The size of the text as it is sent.
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

/// The mark after `mark`, if there is one left.
pub(super) fn mark_after(mark: char) -> Option<char> {
    char::from_u32(mark as u32 + 1).filter(|next| is_mark(*next))
}

/// Whether a paste becomes a chip.
pub(super) fn is_long(pasted: &str) -> bool {
    pasted.len() > CHIP_BYTES || pasted.lines().nth(CHIP_LINES).is_some()
}
