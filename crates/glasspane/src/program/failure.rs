//! Errors of the program, with their exit codes.

use std::fmt::Display;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The command was used incorrectly: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// Everything else: exit code 1.
    #[error("{0}")]
    Failed(String),
}

impl Failure {
    /// Wraps errors whose message already says what to do.
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
