//! Standard input and output, the executor, and the signals that end a process: what every mode of
//! `zot` needs before it knows what it is going to do.

pub mod executor;
pub mod signals;
mod stdio;

pub use stdio::{HIGH_WATER_BYTES, Input, Mark, Output, stdin_speaks_within};
