//! Cuts bytes where characters end.

/// The length of `bytes` without a character that is only begun at their end.
pub(crate) fn complete_len(bytes: &[u8]) -> usize {
    for tail in 1..=bytes.len().min(3) {
        let start = bytes.len() - tail;
        let is_continuation = bytes[start] & 0b1100_0000 == 0b1000_0000;
        if is_continuation {
            continue;
        }
        let is_begun =
            std::str::from_utf8(&bytes[start..]).is_err_and(|error| error.error_len().is_none());
        return if is_begun { start } else { bytes.len() };
    }
    bytes.len()
}

/// Turns a stream of bytes into text, never splitting a character between two pieces.
#[derive(Debug, Default)]
pub(crate) struct Utf8Decoder {
    /// The beginning of a character, at most three bytes.
    begun: Vec<u8>,
}

impl Utf8Decoder {
    /// The text that `bytes` complete. What is not UTF-8 becomes U+FFFD, and so does NUL, which
    /// some providers refuse.
    pub(crate) fn decode(&mut self, bytes: &[u8]) -> String {
        if self.begun.is_empty() {
            let (complete, begun) = bytes.split_at(complete_len(bytes));
            self.begun.extend_from_slice(begun);
            return to_text(complete);
        }
        let mut joined = std::mem::take(&mut self.begun);
        joined.extend_from_slice(bytes);
        self.begun = joined.split_off(complete_len(&joined));
        to_text(&joined)
    }

    /// Passes over `bytes` that no one will see.
    pub(crate) fn skip(&mut self, bytes: &[u8]) {
        self.begun.clear();
        self.begun.extend_from_slice(&bytes[complete_len(bytes)..]);
    }

    /// What is left at the end of the stream.
    pub(crate) fn finish(&mut self) -> String {
        to_text(&std::mem::take(&mut self.begun))
    }
}

/// `bytes` as text; see [`Utf8Decoder::decode`].
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
