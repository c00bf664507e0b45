//! How well commands can be confined here.

use std::path::PathBuf;

use zot_process::launch::Status;
use zot_process::sandbox::{Policy, SandboxError};

/// How well this system can confine commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandConfinement {
    /// In every respect.
    Full,
    /// Except for this gap.
    Partial(String),
    /// Not at all, for this reason: `bash` is refused.
    Impossible(String),
}

impl CommandConfinement {
    /// Returns the confinement that this system supports for `--jail`.
    pub fn here() -> Self {
        Self::from(Policy::jail().enforcement().files)
    }
}

impl From<Status> for CommandConfinement {
    fn from(files: Status) -> Self {
        match files {
            Status::Enforced => Self::Full,
            Status::Partly(gap) => Self::Partial(gap),
            Status::NotEnforced(reason) => Self::Impossible(reason),
            Status::NotRequested => Self::Impossible("nothing was asked for".to_owned()),
        }
    }
}

/// Why a command is not run in the sandbox.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotConfined {
    #[error(
        "commands cannot be confined here ({reason}), and zot is confined to {}: use read, write and \
         edit; only the user can lift this", directory.display()
    )]
    Impossible { reason: String, directory: PathBuf },
    #[error("the command cannot be confined: {0}; only the user can lift this")]
    Refused(#[source] SandboxError),
}

impl NotConfined {
    /// Explains why a command cannot be confined to `directory`.
    pub(crate) fn to(directory: PathBuf, error: SandboxError) -> Self {
        match error {
            SandboxError::Impossible(reason) => Self::Impossible { reason, directory },
            other => Self::Refused(other),
        }
    }
}
