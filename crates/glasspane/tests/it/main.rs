//! The binary, over real pipes and real children.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests fail loudly"
)]

mod escapes;
mod peers;
mod run;
mod serve;
mod tail;
mod top;

use std::process::{Command, Output, Stdio};

/// Our binary with `arguments`, nothing on its standard input, and no colour.
fn glasspane(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_glasspane"));
    command
        .args(arguments)
        .stdin(Stdio::null())
        .env("NO_COLOR", "1");
    command
}

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/{name}", env!("CARGO_MANIFEST_DIR"))
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
