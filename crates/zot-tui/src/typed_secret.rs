//! A key while it is being typed: never printed, and wiped from memory afterwards.

use std::fmt;
use std::hint::black_box;

/// The longest key. A growing buffer would be moved and leave copies in memory.
///
/// Limit: a longer key is refused.
pub(crate) const MAX_TYPED_KEY_BYTES: usize = 16 * 1024;

/// Text that is never shown: `Debug` hides it, and its memory is overwritten on drop.
pub struct TypedSecret {
    bytes: Vec<u8>,
}

impl Default for TypedSecret {
    fn default() -> Self {
        Self {
            // Allocated up front, so that it never moves.
            bytes: Vec::with_capacity(MAX_TYPED_KEY_BYTES),
        }
    }
}

impl TypedSecret {
    /// Returns the key, to send or store it.
    pub fn reveal(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or_default()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Returns the number of characters.
    pub(crate) fn count(&self) -> usize {
        self.reveal().chars().count()
    }

    /// Adds a character, unless it cannot be part of a key. Returns whether there was room.
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

    /// Removes the last character.
    pub(crate) fn pop(&mut self) {
        let last = self.reveal().chars().next_back().map_or(0, char::len_utf8);
        let kept = self.bytes.len() - last;
        self.bytes[kept..].fill(0);
        self.bytes.truncate(kept);
    }

    pub(crate) fn clear(&mut self) {
        self.bytes.fill(0);
        // Keeps the compiler from removing writes that nothing reads.
        black_box(&self.bytes);
        self.bytes.clear();
    }
}

impl Clone for TypedSecret {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.bytes.extend_from_slice(&self.bytes);
        copy
    }
}

impl PartialEq for TypedSecret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl fmt::Debug for TypedSecret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("TypedSecret([hidden])")
    }
}

impl Drop for TypedSecret {
    fn drop(&mut self) {
        self.clear();
    }
}
