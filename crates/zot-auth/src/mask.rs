//! Identifies a key without showing it.

/// Shorter secrets are hidden completely: their last characters would reveal too much.
const MIN_SHOWN_LENGTH: usize = 16;

/// How many characters at the end are shown, as in a provider's own list of keys.
const SHOWN: usize = 4;

/// Returns the last characters of a secret, enough to distinguish it from others.
pub fn masked(secret: &str) -> String {
    let length = secret.chars().count();
    if length < MIN_SHOWN_LENGTH {
        return "…".to_owned();
    }
    let end: String = secret.chars().skip(length - SHOWN).collect();
    format!("…{end}")
}
