//! The arguments of a call, read while the model writes them.
//!
//! Every delta is parsed once: the arguments are drawn many times a second and may hold a whole file.

mod strings;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use strings::{Part, Strings};

/// The first of these arguments is the subject of a call.
const SUBJECTS: [&str; 3] = ["command", "path", "name"];

/// How much of a subject or a line is kept: more than fits on any screen.
const MAX_SHOWN_ARGUMENT_BYTES: usize = 4 * 1024;

/// How many of the lines written last are kept.
const KEPT_ARGUMENT_LINES: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Arguments {
    /// JSON, perhaps not complete yet.
    text: String,
    strings: Strings,
    subjects: [Option<String>; SUBJECTS.len()],
    lines: VecDeque<String>,
    line_count: usize,
    /// The last line may continue.
    is_line_open: bool,
}

impl Arguments {
    pub(crate) fn push(&mut self, delta: &str) {
        self.text.push_str(delta);
        let mut strings = std::mem::take(&mut self.strings);
        for character in delta.chars() {
            match strings.push(character) {
                Some(Part::Character(character)) => self.push_character(&strings, character),
                Some(Part::Begin) => self.begin(&strings),
                None => {}
            }
        }
        self.strings = strings;
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the subject of the call, a command or a file, as far as it has arrived.
    pub(crate) fn subject(&self) -> &str {
        let found = self.subjects.iter().find_map(Option::as_deref);
        found.unwrap_or_else(|| match self.text.as_str() {
            "{}" => "",
            text => &text[..text.floor_char_boundary(MAX_SHOWN_ARGUMENT_BYTES)],
        })
    }

    pub(crate) fn command(&self) -> Option<&str> {
        self.subjects[0].as_deref()
    }

    pub(crate) fn path(&self) -> Option<&str> {
        self.subjects[1].as_deref()
    }

    /// Returns the last lines of a file's new content, or of its changes, which begin with `-` or `+`.
    pub(crate) fn last_lines(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().map(String::as_str)
    }

    /// Returns how many lines were written.
    pub(crate) fn line_count(&self) -> usize {
        self.line_count
    }

    fn begin(&mut self, strings: &Strings) {
        self.is_line_open = false;
        if let Some(subject) = self.subject_of(strings) {
            *subject = Some(String::new());
        }
    }

    fn push_character(&mut self, strings: &Strings, character: char) {
        if let Some(Some(subject)) = self.subject_of(strings) {
            push_bounded(subject, character);
        }
        let mark = match (strings.key(), strings.depth()) {
            ("content", 1) => "",
            ("oldText", _) => "-",
            ("newText", _) => "+",
            _ => return,
        };
        if !self.is_line_open {
            self.line_count += 1;
            self.lines.push_back(mark.to_owned());
            if self.lines.len() > KEPT_ARGUMENT_LINES {
                self.lines.pop_front();
            }
        }
        self.is_line_open = character != '\n';
        if let Some(line) = self.lines.back_mut().filter(|_| character != '\n') {
            push_bounded(line, character);
        }
    }

    fn subject_of(&mut self, strings: &Strings) -> Option<&mut Option<String>> {
        let names = SUBJECTS.iter().zip(&mut self.subjects);
        let mut names = names.filter(|_| strings.depth() == 1);
        let found = names.find(|(name, _)| **name == strings.key());
        found.map(|(_, subject)| subject)
    }
}

/// Parses the arguments of a complete call, whose lines are not shown.
impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        let mut arguments = Self::default();
        arguments.push(text);
        arguments.lines = VecDeque::new();
        arguments
    }
}

fn push_bounded(text: &mut String, character: char) {
    if text.len() + character.len_utf8() <= MAX_SHOWN_ARGUMENT_BYTES {
        text.push(character);
    }
}
