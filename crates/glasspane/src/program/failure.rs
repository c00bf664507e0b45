//! Errors of the program, with their exit codes.

use std::fmt::Display;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked for cannot be done as it was asked: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// It went wrong: exit code 1.
    #[error("{0}")]
    Failed(String),
}

impl Failure {
    /// For errors that say by themselves what to do.
    pub fn failed(error: impl Display) -> Self {
        Self::Failed(error.to_string())
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
        }
    }
}
