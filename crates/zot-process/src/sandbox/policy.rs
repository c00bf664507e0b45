//! What a child may do, in the words of users: a level, and exact rules beside it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use thiserror::Error;

use super::host::ConnectRule;

/// How much a child may do. Later levels are stricter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// The user's rights, without the keys of model providers in the environment.
    #[default]
    Off,
    /// Reads the system, writes the working directory and temporary files of its own, and has no
    /// network except what the rules allow.
    Workspace,
    /// As [`Workspace`](Self::Workspace), but the working directory can only be read.
    ReadOnly,
}

impl Level {
    pub const ALL: [Self; 3] = [Self::Off, Self::Workspace, Self::ReadOnly];

    /// Returns the word for it, the same in flags, files and frames.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::ReadOnly => "read-only",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A word that is not a level.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("unknown sandbox {0:?}: use off, workspace or read-only")]
pub struct UnknownLevel(pub String);

impl FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|level| level.name() == text)
            .ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

/// A level with its exact rules. The default is [`Level::Off`] without rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub level: Level,
    pub rules: Rules,
}

/// What is allowed beside the level. At [`Level::Off`] only `environment` and `limits` matter.
///
/// A path may begin with `~/`, or is relative to the working directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules {
    /// Files and directory trees that may be read.
    pub read: Vec<PathBuf>,
    /// Files and directory trees that may be read and changed. What is [protected](super::PROTECTED)
    /// stays so unless it is named here itself.
    pub write: Vec<PathBuf>,
    /// The only programs that may be started; `None` means all that can be read.
    pub run: Option<Vec<PathBuf>>,
    /// Where connections may go.
    pub connect: Vec<ConnectRule>,
    /// Unix sockets that may be connected to.
    pub unix_sockets: Vec<PathBuf>,
    /// Variables that are passed although the level withholds them. `PREFIX_*` names many.
    pub environment: Vec<String>,
    /// Whether the environment is passed as at [`Level::Off`], not by the list of the level.
    pub inherits_environment: bool,
    /// Whether `read` and the like are refused the files of the system, which commands need.
    pub hides_system_from_tools: bool,
    pub limits: Limits,
}

impl Rules {
    /// Returns whether connections may go anywhere.
    pub fn allows_every_host(&self) -> bool {
        self.connect.contains(&ConnectRule::Anywhere)
    }
}

/// What each child may use; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Data memory of each process.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at a time.
    pub processes: Option<u64>,
    /// Processor time of each process.
    pub processor_seconds: Option<u64>,
    /// Open files of each process.
    pub open_files: Option<u64>,
}

impl Policy {
    pub fn at(level: Level) -> Self {
        Self {
            level,
            rules: Rules::default(),
        }
    }

    /// Returns what `--jail` has always meant: the working directory and nothing else for the tools,
    /// with the network and the environment of the user.
    pub fn jail() -> Self {
        Self {
            level: Level::Workspace,
            rules: Rules {
                connect: vec![ConnectRule::Anywhere],
                inherits_environment: true,
                hides_system_from_tools: true,
                ..Rules::default()
            },
        }
    }

    /// Applies what a project asks for, which can only take rights away.
    #[must_use]
    pub fn tightened(mut self, level: Level, limits: Limits) -> Self {
        self.level = self.level.max(level);
        self.rules.limits = self.rules.limits.lowered_to(limits);
        self
    }
}

impl Limits {
    fn lowered_to(self, other: Self) -> Self {
        let lower = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            memory_bytes: lower(self.memory_bytes, other.memory_bytes),
            processes: lower(self.processes, other.processes),
            processor_seconds: lower(self.processor_seconds, other.processor_seconds),
            open_files: lower(self.open_files, other.open_files),
        }
    }
}
