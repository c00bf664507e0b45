//! The part of a program's output stream that is kept.

#[cfg(test)]
mod tests;

/// The beginning of a stream.
#[derive(Debug)]
pub(super) struct Output {
    bytes: Vec<u8>,
    limit: usize,
    dropped: usize,
}

impl Output {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            limit,
            dropped: 0,
        }
    }

    pub(super) fn push(&mut self, more: &[u8]) {
        let room = self.limit - self.bytes.len();
        let (kept, dropped) = more.split_at(room.min(more.len()));
        self.bytes.extend_from_slice(kept);
        self.dropped += dropped.len();
    }

    /// The output as text, with U+FFFD for invalid UTF-8, and a note when it was cut.
    pub(super) fn text(&self) -> String {
        let mut text = String::with_capacity(self.bytes.len());
        let mut chunks = self.bytes.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            // A character that the limit cut in two is not invalid.
            let is_halved = self.dropped > 0 && chunks.peek().is_none();
            if !chunk.invalid().is_empty() && !is_halved {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        if self.dropped > 0 {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(&format!(
                "[output cut: {} bytes more than the limit of {}]\n",
                self.dropped, self.limit
            ));
        }
        text
    }
}
