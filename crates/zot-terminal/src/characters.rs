//! Characters that a terminal obeys, or that look like something else.

/// Shown instead of a removed character.
pub(crate) const MARK: char = '·';

/// The flag that tag characters may follow, to form a regional flag.
pub(crate) const BLACK_FLAG: char = '\u{1f3f4}';

/// Returns whether a terminal or its text layout obeys this character: C0 except line feeds and tabs,
/// DEL, C1, and everything that [`is_deceptive`].
pub fn is_obeyed(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t')) || is_deceptive(character)
}

/// Returns whether this character changes the text direction, breaks a line or hides text.
pub fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || is_tag(character)
}

/// Returns whether this is a tag: an invisible copy of ASCII, which a model reads and a person does not.
pub(crate) fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}
