//! What the terminal answers when it is asked for its background.
//!
//! The answer comes between the keys, whenever it comes, and looks to the reader of keys like some
//! that were typed. Whatever turns out to be none is given back as the keys it was.

#[cfg(test)]
mod tests;

use crate::app::{Key, KeyCode};

/// Asks which colour the background has.
pub(super) const QUESTION: &[u8] = b"\x1b]11;?\x07";

/// No answer is longer.
const MAX_CHARACTERS: usize = 32;

const PREFIX: &str = "11;rgb";

/// Finds the answer among the keys.
#[derive(Debug, Default)]
pub(super) struct Reply {
    /// What has come of it.
    keys: Vec<Key>,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// Nothing, yet.
    More,
    Keys(Vec<Key>),
    Background {
        is_light: bool,
    },
}

impl Reply {
    pub(super) fn take(&mut self, key: Key) -> Found {
        let begins = key == Key::alt(']');
        if self.keys.is_empty() {
            return match begins {
                true => {
                    self.keys.push(key);
                    Found::More
                }
                false => Found::Keys(vec![key]),
            };
        }
        if key == Key::control('g') || key == Key::alt('\\') {
            let text = self.text();
            let keys = std::mem::take(&mut self.keys);
            return match is_light(&text) {
                Some(is_light) => Found::Background { is_light },
                None => Found::Keys(keys.into_iter().chain([key]).collect()),
            };
        }
        self.keys.push(key);
        let text = self.text();
        let length = text.len().min(PREFIX.len());
        let fits = matches!(key.code, KeyCode::Character(_)) && !key.control && !key.alt;
        if fits && text[..length] == PREFIX[..length] && self.keys.len() < MAX_CHARACTERS {
            return Found::More;
        }
        Found::Keys(std::mem::take(&mut self.keys))
    }

    fn text(&self) -> String {
        let keys = self.keys.iter().skip(1);
        keys.filter_map(|key| match key.code {
            KeyCode::Character(character) if character.is_ascii() => Some(character),
            _ => None,
        })
        .collect()
    }
}

/// Of `11;rgb:ffff/ffff/ffff`, with one to four digits each.
fn is_light(text: &str) -> Option<bool> {
    let (_, parts) = text.strip_prefix(PREFIX)?.split_once(':')?;
    let mut shares = parts.split('/').map(|digits| {
        let value = u32::from_str_radix(digits, 16).ok()?;
        let most = 16_u32.checked_pow(u32::try_from(digits.len()).ok()?)? - 1;
        Some(f64::from(value) / f64::from(most))
    });
    let mut next = || shares.next().flatten();
    let (red, green, blue) = (next()?, next()?, next()?);
    Some(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)
}
