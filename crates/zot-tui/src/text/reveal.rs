//! Text with nothing hidden, for decisions about it.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

use zot_terminal::is_deceptive;

use super::TAB_COLUMNS;

/// `text` with every character that a terminal would obey or not show written out, so that a
/// command cannot look like a shorter one.
pub(crate) fn reveal(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => shown.extend(std::iter::repeat_n(' ', TAB_COLUMNS)),
            // Unicode has a symbol for each of these.
            '\0'..='\x1f' => shown.extend(char::from_u32(0x2400 + u32::from(character))),
            '\x7f' => shown.push('\u{2421}'),
            character if is_unseen(character) => {
                let _ = write!(shown, "<U+{:04X}>", u32::from(character));
            }
            character => shown.push(character),
        }
    }
    shown
}

/// Invisible, or a blank that is not a space.
fn is_unseen(character: char) -> bool {
    let is_mark = matches!(character,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe0f}');
    let is_odd_blank = character.is_whitespace() && character != ' ';
    character.is_control()
        || is_deceptive(character)
        || is_odd_blank
        || matches!(
            character,
            '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{2800}'
        )
        || (!is_mark && !is_combining(character) && character.width() == Some(0))
}

/// Signs of scripts that are written on the letter before them.
fn is_combining(character: char) -> bool {
    character.is_alphabetic()
        || matches!(character, '\u{590}'..='\u{1fff}' | '\u{a8e0}'..='\u{abff}')
}
