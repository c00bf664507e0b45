//! What commands print.

use std::fmt::Display;
use std::io::{self, Write as _};

use serde::Serialize;

/// Who reads the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    Json,
}

impl Format {
    pub(crate) fn of(json: bool) -> Self {
        match json {
            true => Self::Json,
            false => Self::Text,
        }
    }
}

/// Prints a line of text.
pub(crate) fn say(text: impl Display) -> io::Result<()> {
    writeln!(zot_terminal::stdout(), "{text}")
}

/// Prints a value as a line of JSON.
pub(crate) fn say_json(value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    zot_terminal::json_stdout().write_all(&line)
}

/// Prints a value as JSON that people can read.
pub(crate) fn say_pretty_json(value: &impl Serialize) -> io::Result<()> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    zot_terminal::json_stdout().write_all(&text)
}
