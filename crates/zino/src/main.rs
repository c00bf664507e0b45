//! The `zino` binary.

fn main() {}
