//! Cleans pasted text.

use std::borrow::Cow;

use super::Draft;
use super::draft::{FIRST_MARK, is_mark};

/// Returns pasted text with Unix line ends, without copied colours, control characters and the marks
/// of chips.
pub(super) fn normalised(text: &str) -> String {
    let mut normalised = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\r' => {
                characters.next_if_eq(&'\n');
                normalised.push('\n');
            }
            '\n' | '\t' => normalised.push(character),
            // The text of other sequences is kept: an unterminated one must not swallow
            // the rest.
            '\x1b' if characters.next_if_eq(&'[').is_some() => {
                while characters
                    .next_if(|c| matches!(c, '0'..='?' | ' '..='/'))
                    .is_some()
                {}
                characters.next_if(|c| ('@'..='~').contains(c));
            }
            character if character.is_control() || is_mark(character) => {}
            character => normalised.push(character),
        }
    }
    normalised
}

pub(super) fn without_marks(text: &str) -> Cow<'_, str> {
    match text.contains(is_mark) {
        true => text.replace(is_mark, "").into(),
        false => text.into(),
    }
}

/// Returns a draft with all of `text` as one chip.
pub(super) fn single_chip(text: String) -> Draft {
    Draft::restored(FIRST_MARK.to_string(), vec![text], false)
}
