//! The diff that an edit returns: three lines of context, `...` where lines are left out.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};

use super::text::NormalizedText;
use crate::utf8::to_text;

const CONTEXT_LINES: usize = 3;

/// After this time a coarser diff is accepted.
///
/// Limit: the diff of an edit gets coarser.
const DIFF_TIME: Duration = Duration::from_millis(200);

/// Returns the differences between two versions of a file, ignoring line ends and byte order marks.
///
/// The text after the last newline counts as a line, even if it is empty, and nothing marks lines
/// left out before the first change: both are part of the recorded format.
pub(crate) fn unified(original: &[u8], edited: &[u8]) -> String {
    let (original, edited) = (NormalizedText::new(original), NormalizedText::new(edited));
    let old: Vec<&[u8]> = original.bytes.split(|&byte| byte == b'\n').collect();
    let new: Vec<&[u8]> = edited.bytes.split(|&byte| byte == b'\n').collect();
    let deadline = Instant::now() + DIFF_TIME;
    let operations = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, Some(deadline));

    let mut diff = String::new();
    let last = operations.len().saturating_sub(1);
    for (index, operation) in operations.iter().enumerate() {
        match *operation {
            DiffOp::Equal { old_index, len, .. } => {
                let lines = &old[old_index..old_index + len];
                push_context(&mut diff, lines, index == 0, index == last);
            }
            DiffOp::Delete {
                old_index, old_len, ..
            } => {
                push_lines(&mut diff, '-', &old[old_index..old_index + old_len]);
            }
            DiffOp::Insert {
                new_index, new_len, ..
            } => {
                push_lines(&mut diff, '+', &new[new_index..new_index + new_len]);
            }
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } => {
                push_lines(&mut diff, '-', &old[old_index..old_index + old_len]);
                push_lines(&mut diff, '+', &new[new_index..new_index + new_len]);
            }
        }
    }
    diff
}

fn push_context(diff: &mut String, lines: &[&[u8]], is_first: bool, is_last: bool) {
    let after_change = if is_first { 0 } else { CONTEXT_LINES };
    let before_change = if is_last { 0 } else { CONTEXT_LINES };
    if lines.len() <= after_change + before_change {
        return push_lines(diff, ' ', lines);
    }
    if !is_first {
        push_lines(diff, ' ', &lines[..after_change]);
        diff.push_str("...\n");
    }
    if !is_last {
        if !is_first {
            diff.push_str("...\n");
        }
        push_lines(diff, ' ', &lines[lines.len() - before_change..]);
    }
}

fn push_lines(diff: &mut String, sign: char, lines: &[&[u8]]) {
    for line in lines {
        diff.push(sign);
        diff.push_str(&to_text(line));
        diff.push('\n');
    }
}
