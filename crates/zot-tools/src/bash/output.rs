//! Collects an output of any length in little memory: its beginning, its end, and a file.
//!
//! A model most needs the end of a long output (the result of a build), and then its beginning (the
//! first error), so both are shown.

use crate::limits::{MAX_RESULT_BYTES, MAX_RESULT_LINES};
use crate::utf8::{complete_len, to_text};

use super::log::{LogDirectory, OutputLog};

const HEAD_BYTES: usize = MAX_RESULT_BYTES / 5;
const HEAD_LINES: usize = MAX_RESULT_LINES / 5;
const TAIL_BYTES: usize = MAX_RESULT_BYTES - HEAD_BYTES;
const TAIL_LINES: usize = MAX_RESULT_LINES - HEAD_LINES;

/// The end is cut to `TAIL_BYTES` only when it has grown to this length, to move few bytes.
///
/// Limit: only the end of a longer output stays in memory.
const RECENT_BYTES: usize = 4 * TAIL_BYTES;

pub(super) struct CollectedOutput<'a> {
    log_directory: LogDirectory<'a>,
    log: Option<OutputLog>,
    /// The first bytes, at most `HEAD_BYTES`.
    head: Vec<u8>,
    /// What followed `head`, or the end of it.
    recent: Vec<u8>,
    total_bytes: u64,
    newlines: u64,
}

impl<'a> CollectedOutput<'a> {
    /// Creates a collector; an output that is too long is written to `log_directory`.
    pub(super) fn new(log_directory: LogDirectory<'a>) -> Self {
        Self {
            log_directory,
            log: None,
            head: Vec::new(),
            recent: Vec::new(),
            total_bytes: 0,
            newlines: 0,
        }
    }

    pub(super) fn push(&mut self, chunk: &[u8]) {
        let (first, rest) = chunk.split_at(chunk.len().min(HEAD_BYTES - self.head.len()));
        self.head.extend_from_slice(first);
        self.recent.extend_from_slice(rest);
        self.total_bytes += chunk.len() as u64;
        self.newlines += count_newlines(chunk);

        if let Some(log) = &mut self.log {
            log.append(chunk);
        } else if self.is_too_long() {
            // Nothing has been dropped yet: that takes more than the limit.
            let mut log = OutputLog::create(&self.log_directory);
            log.append(&self.head);
            log.append(&self.recent);
            self.log = Some(log);
        }
        if self.recent.len() > RECENT_BYTES {
            self.recent.drain(..self.recent.len() - TAIL_BYTES);
        }
    }

    /// Returns the whole output if it fits into a result, else its beginning, a note, and its end.
    pub(super) fn into_text(self) -> String {
        let Some(log) = &self.log else {
            return to_text(&[self.head, self.recent].concat());
        };
        let is_whole = (self.head.len() + self.recent.len()) as u64 == self.total_bytes;
        let head_end = head_end(&self.head);
        let head = &self.head[..head_end];
        let joined;
        let rest = if is_whole {
            joined = [&self.head[head_end..], &self.recent].concat();
            &joined
        } else {
            &self.recent
        };
        let tail = &rest[tail_start(rest)..];

        let mut text = to_text(head);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let lines = self.newlines - count_newlines(head) - count_newlines(tail);
        let bytes = self.total_bytes - (head.len() + tail.len()) as u64;
        text.push_str(&format!(
            "... [{lines} lines, {bytes} bytes left out; {}]\n",
            log.describe()
        ));
        text.push_str(&to_text(tail));
        text
    }

    fn is_too_long(&self) -> bool {
        let last = self.recent.last().or(self.head.last());
        let unfinished_line = last.is_some_and(|&byte| byte != b'\n');
        self.total_bytes > MAX_RESULT_BYTES as u64
            || self.newlines + u64::from(unfinished_line) > MAX_RESULT_LINES as u64
    }
}

/// Returns where the shown beginning of `bytes` ends: after a line if possible, else after a
/// character.
fn head_end(bytes: &[u8]) -> usize {
    let within = &bytes[..bytes.len().min(HEAD_BYTES)];
    memchr::memchr_iter(b'\n', within)
        .take(HEAD_LINES)
        .last()
        .map_or_else(|| complete_len(within), |newline| newline + 1)
}

/// Returns where the shown end of `bytes` starts: at a line if possible, else at a character.
fn tail_start(bytes: &[u8]) -> usize {
    let from = bytes.len().saturating_sub(TAIL_BYTES);
    // The newline that ends the last line does not start another.
    let end = bytes.len().saturating_sub(1).max(from);
    let newline = memchr::memrchr_iter(b'\n', &bytes[from..end])
        .take(TAIL_LINES)
        .last();
    match newline {
        _ if from == 0 && count_newlines(&bytes[..end]) < TAIL_LINES as u64 => 0,
        Some(newline) => from + newline + 1,
        None => (from..bytes.len())
            .find(|&at| bytes[at] & 0b1100_0000 != 0b1000_0000)
            .unwrap_or(from),
    }
}

fn count_newlines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}
