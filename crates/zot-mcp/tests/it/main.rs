//! The client against real programs over real pipes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "clippy allows these only in test functions, not in the helpers beside them"
)]

mod calls;
mod confined;
mod hostile;

mod lifecycle;
mod lists;
mod questions;
mod remote;

mod support;
