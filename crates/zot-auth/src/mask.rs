//! Showing which key it is without showing it.

/// Shorter secrets are hidden whole: the end of one would be too much of it.
const MIN_SHOWN_LENGTH: usize = 16;

/// How much of the end is shown, as on a provider's own list of keys.
const SHOWN: usize = 4;

/// The last characters of a secret, enough to tell it from others.
pub fn masked(secret: &str) -> String {
    let length = secret.chars().count();
    if length < MIN_SHOWN_LENGTH {
        return "…".to_owned();
    }
    let end: String = secret.chars().skip(length - SHOWN).collect();
    format!("…{end}")
}
