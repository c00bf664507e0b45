//! What a text costs in a request, before any provider has counted it.

/// English text and code come to about this much per token with the tokenizers in use.
pub const BYTES_PER_TOKEN: u64 = 4;

/// The estimate for a text of this length.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}
