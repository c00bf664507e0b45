//! The words of a text that are scored: runs of `[a-z0-9]` after lower-casing.

/// Calls `each` for every word of `text`.
pub(super) fn words(text: &str, mut each: impl FnMut(&str)) {
    let mut word = String::new();
    let mut push = |character: char| {
        if character.is_ascii_lowercase() || character.is_ascii_digit() {
            word.push(character);
        } else if !word.is_empty() {
            each(&word);
            word.clear();
        }
    };
    for character in text.chars() {
        if character.is_ascii() {
            push(character.to_ascii_lowercase());
        } else {
            // A few letters outside ASCII, such as the Kelvin sign, have a lower-case form in it.
            character.to_lowercase().for_each(&mut push);
        }
    }
    push(' ');
}
