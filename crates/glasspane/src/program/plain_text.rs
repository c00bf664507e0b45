//! Makes agents' text safe for a terminal: removes control sequences.

#[cfg(test)]
mod tests;

use zot_terminal::{Layout, clean};

/// Returns `text` as one line without terminal control: escape sequences are dropped, line ends and tabs
/// become blanks, and marks that change the writing direction are replaced. Used for pipes as well: the
/// output is a summary cut to a width, never a copy.
pub fn plain(text: &str) -> String {
    clean(text, Layout::LINE)
}

/// Returns approximately how many columns `text` takes; terminals disagree about details.
pub fn width(text: &str) -> usize {
    text.chars().map(columns).sum()
}

/// Cuts `text` to `limit` columns, with an ellipsis if anything is missing.
pub fn clip(text: &str, limit: usize) -> String {
    if width(text) <= limit {
        return text.to_owned();
    }
    let mut clipped = String::new();
    let mut used = 0;
    for character in text.chars() {
        let more = columns(character);
        if used + more + 1 > limit {
            break;
        }
        used += more;
        clipped.push(character);
    }
    if limit > 0 {
        clipped.push('…');
    }
    clipped
}

fn columns(character: char) -> usize {
    match u32::from(character) {
        // Combining marks, zero-width characters, variation selectors.
        0x0300..=0x036f | 0x200b..=0x200d | 0x20d0..=0x20ff | 0xfe00..=0xfe0f | 0xfeff => 0,
        // Hangul, CJK, full-width forms, emoji.
        0x1100..=0x115f
        | 0x2e80..=0x303e
        | 0x3041..=0xa4cf
        | 0xac00..=0xd7a3
        | 0xf900..=0xfaff
        | 0xfe30..=0xfe6f
        | 0xff00..=0xff60
        | 0xffe0..=0xffe6
        | 0x1f300..=0x1f64f
        | 0x1f680..=0x1f6ff
        | 0x1f900..=0x1f9ff
        | 0x20000..=0x3fffd => 2,
        _ => 1,
    }
}
