//! A key while it is being typed: never printed, and wiped when it is not needed any more.

use std::fmt;
use std::hint::black_box;

/// The longest key that is taken; a larger one would be moved while it grows, and leave copies.
///
/// Limit: a longer key is refused.
pub(crate) const MAX_TYPED_KEY_BYTES: usize = 16 * 1024;

/// Text that is shown to nobody. `Debug` hides it, and its memory is overwritten in the end.
pub struct Secret {
    bytes: Vec<u8>,
}

impl Default for Secret {
    fn default() -> Self {
        Self {
            // All of it at once: it never moves.
            bytes: Vec::with_capacity(MAX_TYPED_KEY_BYTES),
        }
    }
}

impl Secret {
    /// The key, to send or keep it.
    pub fn reveal(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// How many characters it has.
    pub(crate) fn count(&self) -> usize {
        self.reveal().chars().count()
    }

    /// Adds a character, unless it cannot be part of a key. Says whether there was room.
    pub(crate) fn push(&mut self, character: char) -> bool {
        if character.is_control() || character.is_whitespace() {
            return true;
        }
        let mut encoded = [0; 4];
        let bytes = character.encode_utf8(&mut encoded).as_bytes();
        let has_room = self.bytes.len() + bytes.len() <= MAX_TYPED_KEY_BYTES;
        if has_room {
            self.bytes.extend_from_slice(bytes);
        }
        has_room
    }

    /// Takes the last character away.
    pub(crate) fn pop(&mut self) {
        let last = self.reveal().chars().next_back().map_or(0, char::len_utf8);
        let kept = self.bytes.len() - last;
        self.bytes[kept..].fill(0);
        self.bytes.truncate(kept);
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.fill(0);
        // The compiler must not leave that out because nobody reads it.
        black_box(&self.bytes);
        self.bytes.clear();
    }
}

impl Clone for Secret {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.bytes.extend_from_slice(&self.bytes);
        copy
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Secret([hidden])")
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.clear();
    }
}
