//! Checks this repository: `cargo test -p xtask`.

mod fuzzing;
mod repository;
