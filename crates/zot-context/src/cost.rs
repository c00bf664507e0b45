//! Estimates the tokens of a text, before any provider has counted them.

/// English text and code have about this many bytes per token with current tokenizers.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a text of this length.
pub fn tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}
