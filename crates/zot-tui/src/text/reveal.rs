//! Shows all characters of a text that the user decides about.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use zot_terminal::is_deceptive;

use super::TAB_COLUMNS;

/// Returns `text` with control and invisible characters written out, so that a command cannot look
/// like a shorter one.
pub(crate) fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.extend(std::iter::repeat_n(' ', TAB_COLUMNS)),
            // Unicode has a symbol for each of these.
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(character))),
            '\x7f' => shown.push('\u{2421}'),
            character if is_invisible(character) => {
                let _ = write!(shown, "<U+{:04X}>", u32::from(character));
            }
            character => shown.push(character),
        }
    }
    shown
}

/// Returns whether a character is invisible, or whitespace other than a space.
fn is_invisible(character: char) -> bool {
    let is_mark = matches!(character,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe0f}');
    let is_other_space = character.is_whitespace() && character != ' ';
    character.is_control()
        || is_deceptive(character)
        || is_other_space
        || matches!(
            character,
            '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
        )
        || (!is_mark && !is_combining(character) && character.width() == Some(0))
}

/// Returns whether a character may be a sign that its script writes on the previous letter.
fn is_combining(character: char) -> bool {
    character.is_alphabetic()
        || matches!(character, '\u{590}'..='\u{1fff}' | '\u{a8e0}'..='\u{abff}')
}
