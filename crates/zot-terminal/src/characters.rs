//! Which characters a terminal obeys or shows as something else than they are.

/// Shown in place of a character that is taken out.
pub(crate) const MARK: char = '·';

/// The flag that tags may follow: they make it the flag of a part of a country.
pub(crate) const BLACK_FLAG: char = '\u{1f3f4}';

/// Whether a terminal, or the layout of text in it, obeys this character: C0 but for line ends and
/// tabs, DEL, C1, and everything that [`is_deceptive`].
pub fn is_obeyed(character: char) -> bool {
    (character.is_control() && !matches!(character, '\n' | '\t')) || is_deceptive(character)
}

/// Whether this character changes the direction of what follows, breaks a line or hides text.
pub fn is_deceptive(character: char) -> bool {
    matches!(character,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}'
            | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}')
        || is_tag(character)
}

/// Copies of ASCII that are never shown: text that a model reads and a person does not.
pub(crate) fn is_tag(character: char) -> bool {
    matches!(character, '\u{e0000}'..='\u{e007f}')
}
