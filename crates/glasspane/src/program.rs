//! The commands of the binary.

mod failure;

pub use failure::Failure;
