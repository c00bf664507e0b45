//! Writing JSON straight into a line's buffer.

use serde::Serialize;

/// Appends `value` to `buffer`.
pub(crate) fn append(buffer: &mut Vec<u8>, value: &impl Serialize) {
    // The records have string keys only and a vector takes every byte, so this cannot fail.
    let written = serde_json::to_writer(&mut *buffer, value);
    debug_assert!(written.is_ok(), "records serialise: {written:?}");
}
