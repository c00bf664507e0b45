//! Newline-delimited frames with a size limit.

#[cfg(test)]
mod tests;

/// The longest line that is read; a longer one is reported and skipped.
///
/// Limit: the line is refused and skipped; reading continues.
pub const MAX_WIRE_LINE_BYTES: usize = 16 * 1024 * 1024;

/// One line of input, without its terminator.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'a> {
    Complete(&'a [u8]),
    /// The line exceeded the limit and was dropped.
    TooLong,
}

/// Splits a byte stream into lines at LF only.
///
/// Memory grows with the bytes received, never ahead of them, and an overlong line never costs more
/// than the limit.
#[derive(Debug)]
pub struct LineDecoder {
    buffer: Vec<u8>,
    /// The start of the first line not yet returned.
    start: usize,
    /// How far the buffer has been searched for LF.
    searched: usize,
    limit: usize,
    skipping: bool,
}

impl Default for LineDecoder {
    fn default() -> Self {
        Self::with_limit(MAX_WIRE_LINE_BYTES)
    }
}

impl LineDecoder {
    pub fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            start: 0,
            searched: 0,
            limit,
            skipping: false,
        }
    }

    /// Adds received bytes. Call [`next_line`](Self::next_line) until it returns `None`
    /// before feeding more, so that the limit holds.
    pub fn feed(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.buffer.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next complete line, if there is one.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        match memchr::memchr(b'\n', &self.buffer[self.searched..]) {
            Some(offset) => {
                let end = self.searched + offset;
                let start = self.start;
                self.start = end + 1;
                self.searched = end + 1;
                Some(self.finished_line(start, end))
            }
            None => {
                self.searched = self.buffer.len();
                if self.skipping || self.buffer.len() - self.start > self.limit {
                    self.skipping = true;
                    self.forget_buffer();
                }
                None
            }
        }
    }

    /// Whether [`next_line`](Self::next_line) would return a line.
    pub fn has_line(&self) -> bool {
        memchr::memchr(b'\n', &self.buffer[self.searched..]).is_some()
    }

    /// Returns the rest of a stream that ended without LF.
    pub fn finish(&mut self) -> Option<Line<'_>> {
        if self.start == self.buffer.len() && !self.skipping {
            return None;
        }
        let (start, end) = (self.start, self.buffer.len());
        self.start = end;
        self.searched = end;
        Some(self.finished_line(start, end))
    }

    fn finished_line(&mut self, start: usize, end: usize) -> Line<'_> {
        if std::mem::take(&mut self.skipping) || end - start > self.limit {
            return Line::TooLong;
        }
        Line::Complete(&self.buffer[start..end])
    }

    fn forget_buffer(&mut self) {
        self.buffer = Vec::new();
        self.start = 0;
        self.searched = 0;
    }
}
