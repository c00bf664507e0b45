//! Extensions as their authors write them, driven as zot drives them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail the test"
)]

mod ending;
mod failures;
mod frames;
mod process;
mod side_by_side;
