//! Bytes as characters, wherever they are split.

/// Turns bytes into text piece by piece. What is not UTF-8 becomes U+FFFD, so that a raw 0x9b does
/// not reach a terminal that takes it for a control character.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The beginning of a character whose other bytes have not come yet.
    begun: Vec<u8>,
}

impl Decoder {
    /// Hands what is complete to `take`.
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&str)) {
        let mut rest = bytes;
        // One byte at a time until the begun character is complete or cannot become one.
        while !self.begun.is_empty() {
            let Some((first, others)) = rest.split_first() else {
                return;
            };
            self.begun.push(*first);
            match std::str::from_utf8(&self.begun) {
                Ok(character) => {
                    take(character);
                    rest = others;
                    self.begun.clear();
                }
                Err(error) if error.error_len().is_none() => rest = others,
                // The new byte does not belong to it.
                Err(_) => {
                    take("\u{fffd}");
                    self.begun.clear();
                }
            }
        }
        for chunk in rest.utf8_chunks() {
            if !chunk.valid().is_empty() {
                take(chunk.valid());
            }
            let invalid = chunk.invalid();
            if invalid.is_empty() {
                continue;
            }
            let is_last = invalid.as_ptr_range().end == rest.as_ptr_range().end;
            let may_go_on =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            match is_last && may_go_on {
                true => self.begun.extend_from_slice(invalid),
                false => take("\u{fffd}"),
            }
        }
    }

    /// The end: a character that was cut off is not one.
    pub(crate) fn finish(&mut self, take: &mut dyn FnMut(&str)) {
        if !self.begun.is_empty() {
            self.begun.clear();
            take("\u{fffd}");
        }
    }
}
