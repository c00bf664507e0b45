//! Finds where words begin and end.

use unicode_segmentation::UnicodeSegmentation as _;

use super::draft::is_mark;

/// Inside a word according to Unicode (`main.rs`), but a boundary for readers of code.
const JOINTS: [char; 6] = ['.', ':', ',', ';', '·', '．'];

/// Emoji are separate words.
const FIRST_EMOJI: char = '\u{1f000}';

/// Returns where the last word of `text` begins.
pub(super) fn start_of_last(text: &str) -> usize {
    for (index, piece) in text.split_word_bound_indices().rev() {
        let piece = piece.trim_end_matches(JOINTS);
        if is_word(piece) {
            let start = piece.rfind(JOINTS).map_or(0, |at| {
                at + piece[at..].chars().next().map_or(0, char::len_utf8)
            });
            return index + start;
        }
    }
    0
}

/// Returns where the first word of `text` ends.
pub(super) fn end_of_first(text: &str) -> usize {
    for (index, piece) in text.split_word_bound_indices() {
        let word = piece.trim_start_matches(JOINTS);
        if is_word(word) {
            let length = word.find(JOINTS).unwrap_or(word.len());
            return index + (piece.len() - word.len()) + length;
        }
    }
    text.len()
}

/// Returns where the last run without whitespace in `text` begins; a line break or a chip is a run
/// too.
pub(super) fn start_of_last_run(text: &str) -> usize {
    let trimmed = text.trim_end_matches([' ', '\t']);
    match trimmed.chars().next_back() {
        None => 0,
        Some(last) if last == '\n' || is_mark(last) => trimmed.len() - last.len_utf8(),
        Some(_) => {
            let is_boundary = |character: char| character.is_whitespace() || is_mark(character);
            let before = trimmed.char_indices().rev().find(|(_, c)| is_boundary(*c));
            before.map_or(0, |(at, character)| at + character.len_utf8())
        }
    }
}

fn is_word(piece: &str) -> bool {
    piece.chars().any(|character| {
        character.is_alphanumeric()
            || character == '_'
            || is_mark(character)
            || character >= FIRST_EMOJI
    })
}
