//! Errors of reading and writing settings.

use std::io;
use std::path::PathBuf;

/// Why settings cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("cannot read {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Unwritable { path: PathBuf, source: io::Error },
    #[error(
        "{}, line {line}, column {column}: {problem}: correct the file, or move it away to use the \
         defaults",
        .path.display()
    )]
    Malformed {
        path: PathBuf,
        line: usize,
        column: usize,
        problem: String,
    },
    #[error("{}, line {line}: {key:?} {problem}", .path.display())]
    Value {
        path: PathBuf,
        line: usize,
        key: &'static str,
        problem: String,
    },
    #[error("${variable} {problem}")]
    Variable { variable: String, problem: String },
    #[error("{key} {problem}")]
    Given { key: &'static str, problem: String },
    #[error("unknown setting {name:?}{}; known: {known}", did_you_mean(.nearest))]
    UnknownKey {
        name: String,
        nearest: Option<&'static str>,
        known: String,
    },
    #[error(
        "{key} cannot be set by a project, because a project could harm its users with it: leave \
         --project out"
    )]
    UserOnly { key: &'static str },
}

pub(crate) fn did_you_mean(nearest: &Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; did you mean {name}?"))
}
