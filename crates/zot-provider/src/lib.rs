//! Placeholder.

pub mod catalog;
pub mod offline;
