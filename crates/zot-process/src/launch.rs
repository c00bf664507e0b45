//! What a child is denied, settled between `fork` and `exec`.
//!
//! A [`Confinement`] says what to deny, [`confine`] settles it for a command, and the [`Enforcement`]
//! it returns says what this system really enforces. Of a child that is denied files or sockets, all
//! but the standard streams is closed, too. Everything that allocates or opens files happens before
//! the fork. Limits on files and network pass on to all that a child starts, can
//! never be shed, and make set-user-ID programs ordinary ones.

mod enforcement;
mod programs;

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub use enforcement::{Enforcement, Status};
pub use programs::programs_needed;

use std::io;
use std::path::PathBuf;
use std::process::Command;

use thiserror::Error;

/// What a child is denied. The default denies nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Confinement {
    open_files: Option<u64>,
    memory_limit: Option<u64>,
    files: Option<FileAccess>,
    without_network: bool,
    without_local_sockets: bool,
}

impl Confinement {
    /// How many descriptors each process may have open at first; it can ask for more.
    #[must_use]
    pub fn open_files(mut self, count: Option<u64>) -> Self {
        self.open_files = count;
        self
    }

    /// How much memory each process may have for its data: heap, stacks of threads, private
    /// writable mappings. Address space that is only reserved does not count (Node reserves
    /// gigabytes), shared memory does not either.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Which files the child may use. It can then signal, trace, limit and schedule none but its own
    /// processes, too, and as root it has the privileges of one in a container.
    #[must_use]
    pub fn filesystem(mut self, access: FileAccess) -> Self {
        self.files = Some(access);
        self
    }

    /// Whether the child may open sockets. Without, `socket` fails with `EACCES` for every family;
    /// `socketpair` still works.
    ///
    /// On its own this stops programs, not attackers: who may write every file can have another
    /// program connect. Restrict the files as well.
    #[must_use]
    pub fn network(mut self, allowed: bool) -> Self {
        self.without_network = !allowed;
        self
    }

    /// Whether the child may open Unix sockets, if it may open any. Without, it cannot ask a service
    /// of this machine, such as the one that manages sessions or containers, to use files for it.
    #[must_use]
    pub fn local_sockets(mut self, allowed: bool) -> Self {
        self.without_local_sockets = !allowed;
        self
    }
}

/// The files a child may use; everything else is refused with `EACCES`. Paths are absolute, or start
/// at our own directory. Links in them are not followed, so that what was checked is what is allowed:
/// give canonical paths.
///
/// A program always may read what programs need to start: `/usr`, `/etc` and their like, `/proc`,
/// the harmless devices, itself, and the libraries its interpreter is installed with; and it may
/// write to `/dev/null`. It has no terminal: it is started in a session of its own.
///
/// Mode, owner, times and attributes can be changed where files can. Whether a file exists can still
/// be found out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAccess {
    /// Files, and directories with all below, that may be read. What is not there when the child
    /// starts is left out.
    pub read: Vec<PathBuf>,
    /// Files, and directories with all below, that may be read and changed. They must be there.
    pub write: Vec<PathBuf>,
    pub execute: Execution,
}

/// The programs a confined child may start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Execution {
    /// Every program it can read.
    #[default]
    Anything,
    /// Itself and these, each with the [`programs_needed`] for it to start: names that are looked
    /// for in the command's `PATH`, or paths, which start at its directory.
    ///
    /// This is about starting programs, those in memory (`memfd_create`) included. Code that a child loads into itself, by the dynamic loader
    /// for instance, is its own code, and is held by everything else. What is no executable file is
    /// left out: to start it is to read it.
    Only(Vec<PathBuf>),
}

/// Why a command could not be confined. It must not be started then.
#[derive(Debug, Error)]
pub enum ConfineError {
    #[error("cannot allow writing to {}: create it first, or take it off the list", path.display())]
    Writable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the kernel refuses the file rules")]
    FileRules(#[source] io::Error),
    #[error("namespaces cannot be made ready")]
    Namespaces(#[source] io::Error),
    #[error("the filter for system calls cannot be made")]
    CallFilter(#[source] io::Error),
}

/// A command with what its program is denied, for [`ProcessGroup::spawn`](crate::ProcessGroup::spawn)
/// and [`run`](crate::run()). One that was made from a command as it is denies nothing.
pub struct Confined {
    command: Command,
    steps: system::Steps,
}

impl From<Command> for Confined {
    fn from(command: Command) -> Self {
        Self {
            command,
            steps: system::Steps::default(),
        }
    }
}

impl Confined {
    /// For its standard streams; all else was settled when it was confined.
    pub fn command_mut(&mut self) -> &mut Command {
        &mut self.command
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn into_command(self) -> Command {
        let Self { command, steps: () } = self;
        command
    }
}

/// The command, which starts its program under a supervisor at the other end of `control`.
#[cfg(target_os = "linux")]
pub(crate) fn install(confined: Confined, control: std::os::unix::net::UnixStream) -> Command {
    let Confined { mut command, steps } = confined;
    linux::install(&mut command, steps, control);
    command
}

/// Settles what the program of `command` is denied.
///
/// Set the command's directory, `PATH` and `HOME` before: they decide what its program needs. What
/// this system cannot enforce is left out, and the result says so. When the kernel refuses a
/// restriction that it should know, the child does not start and `spawn` returns the error.
pub fn confine(
    command: Command,
    confinement: &Confinement,
) -> Result<(Confined, Enforcement), ConfineError> {
    let steps = system::steps(&command, confinement)?;
    Ok((Confined { command, steps }, enforcement(confinement)))
}

/// What this system enforces of `confinement`.
pub fn enforcement(confinement: &Confinement) -> Enforcement {
    system::enforcement(confinement)
}

/// In words: by what this system keeps confined children from other processes, and from modes,
/// owners and times of files they may not change.
pub fn isolation() -> String {
    system::isolation_report()
}

/// What this system could enforce if it were asked for everything.
pub fn enforceable() -> Enforcement {
    system::enforceable()
}

#[cfg(test)]
mod tests;
