//! x
pub mod blocks;
mod call;
mod scanner;
