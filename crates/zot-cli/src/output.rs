//! Standard output of the subcommands.

use std::fmt::Display;
use std::io::{self, Write as _};

use serde::Serialize;
use zot_terminal::Print;

use crate::failure::Failure;

/// Whether people or programs read the output.
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
pub(crate) fn print_line(text: impl Display) -> Result<(), Failure> {
    write_line(text).map_err(Failure::output)
}

/// Prints a line of text; unlike with [`print_line`], a closed pipe is an error.
pub(crate) fn write_line(text: impl Display) -> io::Result<()> {
    writeln!(zot_terminal::stdout(), "{text}")
}

/// Prints text that `write` writes in many small pieces.
pub(crate) fn print(write: impl FnOnce(&mut dyn Print) -> io::Result<()>) -> Result<(), Failure> {
    let mut output = zot_terminal::buffered_stdout();
    write(&mut output)
        .and_then(|()| output.flush())
        .map_err(Failure::output)
}

/// Prints a value as a line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let line = serde_json::to_vec(value).map_err(io::Error::from);
    line.and_then(write_json).map_err(Failure::output)
}

/// Prints a value as indented JSON.
pub(crate) fn print_pretty_json(value: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(value).map_err(io::Error::from);
    text.and_then(write_json).map_err(Failure::output)
}

fn write_json(mut text: Vec<u8>) -> io::Result<()> {
    text.push(b'\n');
    zot_terminal::json_stdout().write_all(&text)
}
