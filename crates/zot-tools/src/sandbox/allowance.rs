//! What a user allows while a session runs, because the sandbox was in the way.

use std::error::Error;
use std::fmt;
use std::path::PathBuf;

use zot_process::sandbox::{ConnectRule, Rules};

/// One thing that a sandbox would refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowance {
    /// Connections to this host.
    Connect(ConnectRule),
    /// Reading this file, or everything below this directory. Absolute, without links.
    Read(PathBuf),
    /// Changing this file, or everything below this directory. Absolute, without links.
    Write(PathBuf),
}

impl Allowance {
    /// Adds it to `rules`, unless it is there.
    pub fn add_to(&self, rules: &mut Rules) {
        fn push<T: Clone + PartialEq>(list: &mut Vec<T>, item: &T) {
            if !list.contains(item) {
                list.push(item.clone());
            }
        }
        match self {
            Self::Connect(rule) => push(&mut rules.connect, rule),
            Self::Read(path) => push(&mut rules.read, path),
            Self::Write(path) => push(&mut rules.write, path),
        }
    }

    /// Returns the option of the command line that allows it.
    pub(crate) fn option(&self) -> String {
        match self {
            Self::Connect(rule) => format!("--sandbox-connect {rule}"),
            Self::Read(path) => format!("--sandbox-read {}", path.display()),
            Self::Write(path) => format!("--sandbox-write {}", path.display()),
        }
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(rule) => write!(formatter, "connecting to {rule}"),
            Self::Read(path) => write!(formatter, "reading {}", path.display()),
            Self::Write(path) => write!(formatter, "changing {}", path.display()),
        }
    }
}

/// How long something is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllowedFor {
    /// Until the session ends.
    Session,
    /// In this and later sessions in the same project.
    Project,
}

/// Keeps what a user allows for a project, outside of the project: a command must not be able to change
/// it.
pub trait Allowances: fmt::Debug + Send + Sync {
    /// Stores `allowed` for the project of the working directory.
    fn keep(&self, allowed: &[Allowance]) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// Why something is not allowed although the user wants it.
#[derive(Debug, thiserror::Error)]
pub enum AllowError {
    #[error("it cannot be kept for the project: {0}")]
    NotKept(#[source] Box<dyn Error + Send + Sync>),
    #[error("the sandbox of this agent is fixed")]
    Fixed,
    #[error("nothing is kept for projects here")]
    NoProject,
    #[error(transparent)]
    Sandbox(#[from] zot_process::sandbox::SandboxError),
}
