//! What is wrong with configuration, and where.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Something about a configuration file that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// `None` if the configuration was given as text.
    pub file: Option<PathBuf>,
    /// The line of the entry, from 1.
    pub line: Option<usize>,
    /// The server, unless the problem is the whole file's.
    pub server: Option<String>,
    /// What is wrong, and what to do about it.
    pub text: String,
    pub consequence: Consequence,
}

/// What a problem means for the server, or for the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// It is not part of the configuration.
    LeftOut,
    /// It is, but something about it is probably a mistake.
    Warning,
}

impl Problem {
    /// Returns whether the server, or all servers of the file, are missing.
    pub fn is_left_out(&self) -> bool {
        self.consequence == Consequence::LeftOut
    }

    pub(crate) fn of_file(path: &Path, line: Option<usize>, text: impl Into<String>) -> Self {
        Self {
            file: Some(path.to_owned()),
            line,
            server: None,
            text: text.into(),
            consequence: Consequence::LeftOut,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(path) => write!(formatter, "{}", path.display())?,
            None => formatter.write_str("the MCP configuration")?,
        }
        if let Some(line) = self.line {
            write!(formatter, ", line {line}")?;
        }
        if let Some(server) = &self.server {
            write!(formatter, ": MCP server {server:?}")?;
        }
        write!(formatter, ": {}", self.text)?;
        match (self.consequence, &self.server) {
            (Consequence::Warning, _) => Ok(()),
            (Consequence::LeftOut, Some(_)) => formatter.write_str(" (left out)"),
            (Consequence::LeftOut, None) => formatter.write_str(" (its servers are left out)"),
        }
    }
}

/// The place of an entry.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) file: Option<PathBuf>,
    pub(super) line: usize,
    pub(super) server: String,
}

impl Place {
    pub(super) fn warning(&self, text: impl Into<String>) -> Problem {
        self.problem(text.into(), Consequence::Warning)
    }

    pub(super) fn left_out(&self, text: impl Into<String>) -> Problem {
        self.problem(text.into(), Consequence::LeftOut)
    }

    fn problem(&self, text: String, consequence: Consequence) -> Problem {
        Problem {
            file: self.file.clone(),
            line: Some(self.line),
            server: Some(self.server.clone()),
            text,
            consequence,
        }
    }
}

/// Why configuration cannot be used or changed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    /// A file that was named does not hold usable servers.
    #[error("{0}")]
    Given(Problem),
    #[error("cannot read {}", .path.display())]
    Unreadable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}
