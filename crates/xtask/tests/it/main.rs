//! This repository, checked: `cargo test -p xtask`.

mod fuzzing;
mod repository;
