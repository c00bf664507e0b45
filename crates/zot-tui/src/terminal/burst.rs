//! A paste in a terminal that does not mark pastes: keys that come all at once.
//!
//! Nobody types a line, enter and the beginning of the next line in one moment. Taken for keys,
//! every line would be sent as a prompt of its own.

#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::app::{Input, KeyCode};

/// Fewer keys at once may be typed ahead.
const MIN_KEYS: usize = 12;

/// A paste is over when nothing comes for so long.
pub(super) const GAP: Duration = Duration::from_millis(20);

#[derive(Debug, Default)]
pub(super) struct Burst {
    /// What has come of a paste.
    text: String,
}

impl Burst {
    pub(super) fn is_open(&self) -> bool {
        !self.text.is_empty()
    }

    /// Takes what has come at once, and returns what is no part of a paste.
    pub(super) fn take(&mut self, inputs: Vec<Input>) -> Vec<Input> {
        let letters: Option<Vec<char>> = inputs.iter().map(letter).collect();
        match letters {
            Some(letters) if self.is_open() || is_pasted(&letters) => {
                self.text.extend(letters);
                Vec::new()
            }
            _ => self.end().into_iter().chain(inputs).collect(),
        }
    }

    /// The paste, if there is one.
    pub(super) fn end(&mut self) -> Option<Input> {
        self.is_open()
            .then(|| Input::Paste(std::mem::take(&mut self.text)))
    }
}

/// Whether a line goes on with another one.
fn is_pasted(letters: &[char]) -> bool {
    let line = letters.iter().position(|letter| *letter == '\n');
    letters.len() >= MIN_KEYS && line.is_some_and(|at| at + 1 < letters.len())
}

/// What a key writes, if that is all it does.
fn letter(input: &Input) -> Option<char> {
    match input {
        Input::Key(key) if !key.control && !key.alt => match key.code {
            KeyCode::Character(character) => Some(character),
            KeyCode::Enter => Some('\n'),
            KeyCode::Tab => Some('\t'),
            _ => None,
        },
        _ => None,
    }
}
