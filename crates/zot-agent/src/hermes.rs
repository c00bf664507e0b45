//! x
pub mod blocks;
