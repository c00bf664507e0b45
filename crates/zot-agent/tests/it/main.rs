//! The agent as its callers see it: a scripted model, scripted tools, and the whole list of events.
//!
//! The clock is paused in every test, so a prompt that waits for something that never comes fails
//! at once instead of hanging.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod aborting;
mod answers;
mod automatic_compaction;
mod compaction;
mod fallback;
mod hermes;
mod hooks;
mod journal;
mod questions;
mod requests;
mod stalled_reader;
mod support;
mod tools;
