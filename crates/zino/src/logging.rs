//! Writes the log: lines on standard error.

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::Write as _;

use jiff::Timestamp;

/// How important a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Level {
    Debug,
    #[default]
    Info,
    Warning,
    Error,
}

impl Level {
    /// Looks up a level by its Python name, in any letter case.
    pub fn named(name: &str) -> Option<Self> {
        match name.to_ascii_uppercase().as_str() {
            "DEBUG" => Some(Self::Debug),
            "INFO" => Some(Self::Info),
            "WARNING" | "WARN" => Some(Self::Warning),
            "ERROR" | "CRITICAL" | "FATAL" => Some(Self::Error),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

/// Writes the log of one service.
#[derive(Debug, Clone, Copy)]
pub struct Log {
    service: &'static str,
    level: Level,
}

impl Log {
    pub const fn new(service: &'static str, level: Level) -> Self {
        Self { service, level }
    }

    pub fn debug(&self, message: fmt::Arguments<'_>) {
        self.write(Level::Debug, message);
    }

    pub fn info(&self, message: fmt::Arguments<'_>) {
        self.write(Level::Info, message);
    }

    pub fn warning(&self, message: fmt::Arguments<'_>) {
        self.write(Level::Warning, message);
    }

    pub fn error(&self, message: fmt::Arguments<'_>) {
        self.write(Level::Error, message);
    }

    /// Whether a line of `level` is written; callers check before expensive preparation.
    pub(crate) fn writes(&self, level: Level) -> bool {
        level >= self.level
    }

    fn write(&self, level: Level, message: fmt::Arguments<'_>) {
        if !self.writes(level) {
            return;
        }
        let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
        // One write per line, so that the lines of services that share a stream do not mix. A log
        // that cannot be written must not stop the service.
        let mut line = format!("{time} {} zino.{}: {message}", level.name(), self.service);
        if line.contains(char::is_control) {
            line = on_one_line(&line);
        }
        line.push('\n');
        let _ = zot_terminal::stderr().write_all(line.as_bytes());
    }
}

/// Keeps text of programs and servers on one line, without control characters.
fn on_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => line.push_str("\\n"),
            control if control.is_control() => line.push('?'),
            other => line.push(other),
        }
    }
    line
}
