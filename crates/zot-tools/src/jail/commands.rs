//! Commands in the jail.

use std::io;
use std::path::Path;
use std::process::Command;

use zot_process::launch::{
    self, ConfineError, Confined, Confinement, Execution, FileAccess, Status,
};

use super::Walls;
use crate::file::reason;

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
    /// Returns the confinement that this system supports.
    pub fn here() -> Self {
        Self::from(launch::enforcement(&confinement(FileAccess::default())).files)
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

/// Why a command is not run in the jail.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotConfined {
    #[error(
        "commands cannot be confined here ({reason}), and zot is confined to {}: use read, write and \
         edit; only the user can lift this", directory.display()
    )]
    Impossible {
        reason: String,
        directory: std::path::PathBuf,
    },
    #[error("make a temporary directory for commands: {}", reason(.0))]
    Scratch(#[source] io::Error),
    #[error("the command cannot be confined: {0}; only the user can lift this")]
    Refused(#[from] ConfineError),
}

/// Confines `command`, whose directory is set, to `walls`. Also returns its temporary directory.
pub(crate) fn confine(
    mut command: Command,
    walls: &Walls,
) -> Result<(Confined, &Path), NotConfined> {
    require_possible(CommandConfinement::here(), walls)?;
    let scratch = walls.scratch().map_err(NotConfined::Scratch)?;
    // The user's home is out of reach, and programs fail on files there that they see but cannot
    // open, so they get an empty one.
    command.env("TMPDIR", scratch).env("HOME", scratch);
    let access = FileAccess {
        read: walls.readable.clone(),
        write: vec![walls.root.clone(), scratch.to_owned()],
        execute: Execution::Anything,
    };
    let (command, _) = launch::confine(command, &confinement(access))?;
    Ok((command, scratch))
}

fn require_possible(here: CommandConfinement, walls: &Walls) -> Result<(), NotConfined> {
    match here {
        CommandConfinement::Full | CommandConfinement::Partial(_) => Ok(()),
        CommandConfinement::Impossible(reason) => Err(NotConfined::Impossible {
            reason,
            directory: walls.root.clone(),
        }),
    }
}

fn confinement(access: FileAccess) -> Confinement {
    Confinement::default()
        .filesystem(access)
        .local_sockets(false)
}

#[cfg(test)]
mod tests;
