//! Standard input and output (or pipes in their place), the executor, and the signals that end a
//! process, as every mode of `zot` needs them.

pub mod executor;
pub mod signals;
mod stdio;

pub use stdio::{
    HIGH_WATER_BYTES, Input, Mark, Output, is_in_foreground, stdin_is_readable_within,
};
