//! Decodes UTF-8 that arrives in pieces.

/// Decodes bytes piece by piece. Invalid UTF-8 becomes U+FFFD, so that a raw 0x9b does not reach a
/// terminal as a control character.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The first bytes of an incomplete character.
    partial: Vec<u8>,
}

impl Decoder {
    /// Passes complete text to `take`.
    pub(crate) fn feed(&mut self, bytes: &[u8], take: &mut dyn FnMut(&str)) {
        let mut rest = bytes;
        // One byte at a time until the partial character is complete or invalid.
        while !self.partial.is_empty() {
            let Some((first, others)) = rest.split_first() else {
                return;
            };
            self.partial.push(*first);
            match std::str::from_utf8(&self.partial) {
                Ok(character) => {
                    take(character);
                    rest = others;
                    self.partial.clear();
                }
                Err(error) if error.error_len().is_none() => rest = others,
                // The new byte does not continue it.
                Err(_) => {
                    take("\u{fffd}");
                    self.partial.clear();
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
            let is_incomplete =
                std::str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
            match is_last && is_incomplete {
                true => self.partial.extend_from_slice(invalid),
                false => take("\u{fffd}"),
            }
        }
    }

    /// Ends the input: an incomplete character becomes U+FFFD.
    pub(crate) fn finish(&mut self, take: &mut dyn FnMut(&str)) {
        if !self.partial.is_empty() {
            self.partial.clear();
            take("\u{fffd}");
        }
    }
}
