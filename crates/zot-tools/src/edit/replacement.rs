//! Finds each old text exactly once and replaces it with the new one.

use std::borrow::Cow;
use std::ops::Range;

use super::hint;
use super::text::{BYTE_ORDER_MARK, NormalizedText, normalize};

/// One replacement that a model requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) old: String,
    pub(super) new: String,
}

/// Replacements that cannot be made. `number` counts from 1, in the order given.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    #[error("edit {number}: oldText must not be empty")]
    EmptyOldText { number: usize },
    #[error("edit {number}: oldText equals newText")]
    NothingToChange { number: usize },
    #[error("edit {number}: oldText not found in {file}{}", hint_line(hint))]
    NotFound {
        number: usize,
        file: String,
        hint: Option<String>,
    },
    #[error("edit {number}: oldText matches {count} times (must be unique) in {file}")]
    Ambiguous {
        number: usize,
        count: usize,
        file: String,
    },
    #[error("edits overlap; merge them into one edit")]
    Overlap,
}

fn hint_line(hint: &Option<String>) -> String {
    hint.as_ref()
        .map_or_else(String::new, |hint| format!("\n{hint}"))
}

/// Returns `original` with all `replacements` made, each against the original text.
///
/// Line ends are ignored when matching: plain newlines match CR LF, and the new text gets the line
/// ends of the text around it. Everything else stays unchanged, byte for byte, including text that
/// is not UTF-8.
pub(super) fn apply(
    file: &str,
    original: &[u8],
    replacements: &[Replacement],
) -> Result<Vec<u8>, EditError> {
    for (index, replacement) in replacements.iter().enumerate() {
        let number = index + 1;
        if replacement.old.is_empty() {
            return Err(EditError::EmptyOldText { number });
        }
        if replacement.old == replacement.new {
            return Err(EditError::NothingToChange { number });
        }
    }
    let text = NormalizedText::new(original);
    let mut changes = Vec::with_capacity(replacements.len());
    for (index, replacement) in replacements.iter().enumerate() {
        changes.push(locate(file, &text, index + 1, replacement)?);
    }
    changes.sort_by_key(|change| change.range.start);
    if changes
        .windows(2)
        .any(|pair| pair[1].range.start < pair[0].range.end)
    {
        return Err(EditError::Overlap);
    }

    let mut edited = Vec::with_capacity(original.len());
    let mut copied = 0;
    for change in &changes {
        edited.extend_from_slice(&original[copied..change.range.start]);
        edited.extend_from_slice(&change.content);
        copied = change.range.end;
    }
    edited.extend_from_slice(&original[copied..]);
    Ok(edited)
}

/// New content for a range of the original.
struct Change<'a> {
    range: Range<usize>,
    content: Cow<'a, [u8]>,
}

fn locate<'a>(
    file: &str,
    text: &NormalizedText<'_>,
    number: usize,
    replacement: &'a Replacement,
) -> Result<Change<'a>, EditError> {
    let (mut old, mut new) = (replacement.old.as_bytes(), replacement.new.as_bytes());
    // `read` shows the byte order mark, so a model may copy it; it is never replaced.
    if text.has_mark()
        && let Some(rest) = old.strip_prefix(BYTE_ORDER_MARK)
        && !rest.is_empty()
    {
        old = rest;
        new = new.strip_prefix(BYTE_ORDER_MARK).unwrap_or(new);
    }
    let plain_old = normalize(old, |_| {});
    let found = memchr::memmem::find(&text.bytes, &plain_old);
    let Some(start) = found else {
        return Err(EditError::NotFound {
            number,
            file: file.to_owned(),
            hint: hint::for_missing(&text.bytes, &plain_old, new),
        });
    };
    // Searching from the next byte also sees matches that overlap the first.
    if memchr::memmem::find(&text.bytes[start + 1..], &plain_old).is_some() {
        return Err(EditError::Ambiguous {
            number,
            count: memchr::memmem::find_iter(&text.bytes, plain_old.as_ref())
                .count()
                .max(2),
            file: file.to_owned(),
        });
    }
    let range = start..start + plain_old.len();
    let content = if !text.has_carriage_returns() && matches!(plain_old, Cow::Borrowed(_)) {
        Cow::Borrowed(new)
    } else if text.ends_lines_with_carriage_return(&range) {
        Cow::Owned(with_carriage_returns(&normalize(new, |_| {})))
    } else {
        normalize(new, |_| {})
    };
    Ok(Change {
        range: text.original_range(&range),
        content,
    })
}

fn with_carriage_returns(plain: &[u8]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(plain.len() + plain.len() / 16);
    for line in plain.split_inclusive(|&byte| byte == b'\n') {
        match line.strip_suffix(b"\n") {
            Some(content) => {
                lines.extend_from_slice(content);
                lines.extend_from_slice(b"\r\n");
            }
            None => lines.extend_from_slice(line),
        }
    }
    lines
}
