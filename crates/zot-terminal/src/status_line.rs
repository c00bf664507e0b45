//! One line of standard error that is redrawn and erased.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use crate::filter::{Layout, clean};

const ERASE: &str = "\r\x1b[K";
/// A line that is too long is cut off instead of wrapped: the wrapped part could not be erased.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";

/// A line that must be cleared before anything else is printed; dropping it clears it.
#[derive(Debug)]
pub struct StatusLine {
    is_drawn: bool,
}

impl StatusLine {
    /// Returns the line, if standard error is a terminal that can erase it.
    pub fn on_stderr() -> Option<Self> {
        let can_erase = env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
        (io::stderr().is_terminal() && can_erase).then_some(Self { is_drawn: false })
    }

    pub fn is_drawn(&self) -> bool {
        self.is_drawn
    }

    /// Shows `text` in place of what the line showed before.
    pub fn draw(&mut self, text: &str) {
        let text = clean(text, Layout::LINE);
        write(&format!("{ERASE}{NO_WRAP}{text}{WRAP}"));
        self.is_drawn = true;
    }

    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            write(ERASE);
        }
    }
}

impl Drop for StatusLine {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Ignores errors: nothing depends on the line.
fn write(text: &str) {
    let mut stderr = io::stderr();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}
