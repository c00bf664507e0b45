//! Texts as the database stores them.

use std::borrow::Cow;

/// Texts of PostgreSQL cannot contain NUL: it and the character that stands for it are replaced.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    match text.contains(['\0', '\u{1}']) {
        true => text
            .replace('\u{1}', "\u{1}1")
            .replace('\0', "\u{1}0")
            .into(),
        false => text.into(),
    }
}

pub(crate) fn unescaped(text: String) -> String {
    match text.contains('\u{1}') {
        true => text.replace("\u{1}0", "\0").replace("\u{1}1", "\u{1}"),
        false => text,
    }
}
