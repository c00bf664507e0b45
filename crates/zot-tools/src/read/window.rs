//! Picks a range of lines out of a stream of chunks, within the limits of a result.

use crate::limits::{MAX_RESULT_BYTES, MAX_RESULT_BYTES_TEXT, MAX_RESULT_LINES};
use crate::utf8::{complete_len, to_text};

/// The requested lines, as far as they have been read.
pub(super) struct LineWindow {
    /// Lines still to skip.
    skip: u64,
    /// The number of the line that `text[line_start..]` belongs to, counted from 1.
    line: u64,
    line_start: usize,
    /// Whole lines in `text`.
    lines: usize,
    wanted: usize,
    /// Whether the end of the window is our limit, not the caller's.
    capped: bool,
    text: Vec<u8>,
    cut: Option<Cut>,
}

/// Whether more of the file is needed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    NeedsMore,
    Complete,
}

/// Why the window ends before the caller's limit.
enum Cut {
    Lines,
    Bytes,
    /// The first line alone is over the limit.
    WithinLine,
}

impl LineWindow {
    /// Creates a window of `limit` lines from line `offset` on; zero and less mean "not given".
    pub(super) fn new(offset: Option<i64>, limit: Option<i64>) -> Self {
        let offset = offset.unwrap_or(1).max(1).unsigned_abs();
        let limit = limit
            .filter(|limit| *limit > 0)
            .and_then(|limit| usize::try_from(limit).ok())
            .filter(|limit| *limit <= MAX_RESULT_LINES);
        Self {
            skip: offset - 1,
            line: offset,
            line_start: 0,
            lines: 0,
            wanted: limit.unwrap_or(MAX_RESULT_LINES),
            capped: limit.is_none(),
            text: Vec::new(),
            cut: None,
        }
    }

    /// Processes the next bytes of the file.
    pub(super) fn push(&mut self, chunk: &[u8]) -> Progress {
        let mut rest = self.skip_lines(chunk);
        while !rest.is_empty() {
            if self.lines == self.wanted {
                self.cut = self.capped.then_some(Cut::Lines);
                return Progress::Complete;
            }
            let newline = memchr::memchr(b'\n', rest);
            let (piece, after) = rest.split_at(newline.map_or(rest.len(), |index| index + 1));
            if self.text.len() + piece.len() > MAX_RESULT_BYTES {
                self.cut_bytes(piece);
                return Progress::Complete;
            }
            self.text.extend_from_slice(piece);
            if newline.is_some() {
                self.lines += 1;
                self.line += 1;
                self.line_start = self.text.len();
            }
            rest = after;
        }
        if self.lines == self.wanted && !self.capped {
            Progress::Complete
        } else {
            Progress::NeedsMore
        }
    }

    /// Returns the lines, each ended by a newline, and a note if a limit cut them off.
    pub(super) fn into_text(self) -> String {
        let mut text = to_text(&self.text);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        let line = self.line;
        match self.cut {
            None => {}
            Some(Cut::Lines) => {
                text.push_str(&format!("... [truncated at {MAX_RESULT_LINES} lines]\n"));
            }
            Some(Cut::Bytes) => text.push_str(&format!(
                "... [truncated at {MAX_RESULT_BYTES_TEXT}; continue with offset {line}]\n"
            )),
            Some(Cut::WithinLine) => text.push_str(&format!(
                "... [line {line} is longer than {MAX_RESULT_BYTES_TEXT} and was cut; \
                 continue with offset {}]\n",
                line + 1
            )),
        }
        text
    }

    /// Skips lines and returns the rest of `chunk`.
    fn skip_lines<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        if self.skip == 0 {
            return chunk;
        }
        // Counting is several times faster than finding each newline.
        let newlines = memchr::memchr_iter(b'\n', chunk).count() as u64;
        if newlines < self.skip {
            self.skip -= newlines;
            return &[];
        }
        let last_skipped = memchr::memchr_iter(b'\n', chunk).nth(self.skip as usize - 1);
        self.skip = 0;
        last_skipped.map_or(&[], |index| &chunk[index + 1..])
    }

    fn cut_bytes(&mut self, piece: &[u8]) {
        if self.line_start > 0 {
            self.text.truncate(self.line_start);
            self.cut = Some(Cut::Bytes);
            return;
        }
        let room = MAX_RESULT_BYTES - self.text.len();
        self.text.extend_from_slice(&piece[..room.min(piece.len())]);
        self.text.truncate(complete_len(&self.text));
        self.cut = Some(Cut::WithinLine);
    }
}
