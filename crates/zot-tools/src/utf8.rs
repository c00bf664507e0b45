//! Splits bytes between characters.

/// Returns the length of `bytes` without an incomplete character at the end.
pub(crate) fn complete_len(bytes: &[u8]) -> usize {
    for tail in 1..=bytes.len().min(3) {
        let start = bytes.len() - tail;
        let is_continuation = bytes[start] & 0b1100_0000 == 0b1000_0000;
        if is_continuation {
            continue;
        }
        let is_incomplete =
            std::str::from_utf8(&bytes[start..]).is_err_and(|error| error.error_len().is_none());
        return if is_incomplete { start } else { bytes.len() };
    }
    bytes.len()
}

/// Turns a stream of bytes into text, never splitting a character between two pieces.
#[derive(Debug, Default)]
pub(crate) struct Utf8Decoder {
    /// The beginning of a character, at most three bytes.
    incomplete: Vec<u8>,
}

impl Utf8Decoder {
    /// Returns the text that `bytes` complete. Invalid UTF-8 becomes U+FFFD, and so does NUL, which
    /// some providers refuse.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        if self.incomplete.is_empty() {
            let (complete, incomplete) = bytes.split_at(complete_len(bytes));
            self.incomplete.extend_from_slice(incomplete);
            return to_text(complete);
        }
        let mut joined = std::mem::take(&mut self.incomplete);
        joined.extend_from_slice(bytes);
        self.incomplete = joined.split_off(complete_len(&joined));
        to_text(&joined)
    }

    /// Skips `bytes` that are not shown.
    pub(crate) fn skip(&mut self, bytes: &[u8]) {
        self.incomplete.clear();
        self.incomplete
            .extend_from_slice(&bytes[complete_len(bytes)..]);
    }

    /// Returns what is left at the end of the stream.
    pub(crate) fn finish(&mut self) -> String {
        to_text(&std::mem::take(&mut self.incomplete))
    }
}

/// Converts `bytes` to text; see [`Utf8Decoder::decode`].
pub(crate) fn to_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') {
        text.replace('\0', "\u{fffd}")
    } else {
        text.into_owned()
    }
}

#[cfg(test)]
mod tests;
