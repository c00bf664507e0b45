//! A file's text without byte order mark, with plain newlines.

use std::borrow::Cow;
use std::ops::Range;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Normalised text that can map its positions back to the original.
pub(super) struct NormalizedText<'a> {
    pub(super) bytes: Cow<'a, [u8]>,
    /// Length of the byte order mark in front.
    mark: usize,
    /// Positions in `bytes` of the newlines whose carriage return was left out.
    shortened: Vec<usize>,
}

impl<'a> NormalizedText<'a> {
    pub(super) fn new(original: &'a [u8]) -> Self {
        let body = original.strip_prefix(BYTE_ORDER_MARK).unwrap_or(original);
        let mut shortened = Vec::new();
        let bytes = normalize(body, |position| shortened.push(position));
        Self {
            bytes,
            mark: original.len() - body.len(),
            shortened,
        }
    }

    pub(super) fn has_mark(&self) -> bool {
        self.mark > 0
    }

    pub(super) fn has_carriage_returns(&self) -> bool {
        !self.shortened.is_empty()
    }

    /// Returns the range in the original for a range of `bytes`.
    pub(super) fn original_range(&self, range: &Range<usize>) -> Range<usize> {
        self.original_position(range.start)..self.original_position(range.end)
    }

    /// Returns whether new lines that replace `range` should end in CR LF: like the first line end
    /// inside it, or the nearest one before it, or the first of the file.
    pub(super) fn ends_lines_with_carriage_return(&self, range: &Range<usize>) -> bool {
        let inside = memchr::memchr(b'\n', &self.bytes[range.clone()]).map(|at| range.start + at);
        let newline = inside
            .or_else(|| memchr::memrchr(b'\n', &self.bytes[..range.start]))
            .or_else(|| memchr::memchr(b'\n', &self.bytes));
        newline.is_some_and(|at| self.shortened.binary_search(&at).is_ok())
    }

    fn original_position(&self, position: usize) -> usize {
        // A position on a shortened newline stands for its carriage return.
        self.mark
            + position
            + self
                .shortened
                .partition_point(|&newline| newline < position)
    }
}

/// Replaces every CR LF with a plain newline; `found` is called with their positions in the result.
pub(super) fn normalize(bytes: &[u8], mut found: impl FnMut(usize)) -> Cow<'_, [u8]> {
    let mut pairs = memchr::memmem::find_iter(bytes, b"\r\n").peekable();
    if pairs.peek().is_none() {
        return Cow::Borrowed(bytes);
    }
    let mut normalized = Vec::with_capacity(bytes.len());
    let mut copied = 0;
    for pair in pairs {
        normalized.extend_from_slice(&bytes[copied..pair]);
        found(normalized.len());
        copied = pair + 1;
    }
    normalized.extend_from_slice(&bytes[copied..]);
    Cow::Owned(normalized)
}
