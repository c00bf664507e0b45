//! What commands print.

use std::fmt::Display;
use std::io::{self, Write as _};

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

/// Prints a line of text, or a value as a line of JSON.
pub(crate) fn say(text: impl Display) -> io::Result<()> {
    writeln!(io::stdout(), "{text}")
}
