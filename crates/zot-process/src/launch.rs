//! What a child is denied, settled between `fork` and `exec`.
//!
//! A [`Confinement`] says what to deny, [`confine`] adds it to a command, and the [`Enforcement`]
//! it returns says what this system really enforces. All but the standard streams is closed, too. Everything that allocates or opens files
//! happens before the fork. Limits on files and network pass on to all that a child starts, can
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
    dies_with_parent: bool,
    memory_limit: Option<u64>,
    files: Option<FileAccess>,
    without_network: bool,
    without_local_sockets: bool,
}

impl Confinement {
    /// Whether the child is killed as soon as its parent is gone, however that ended.
    ///
    /// The kernel takes the *thread* that starts the child for its parent: start it from one that
    /// lives as long as the child may. What the child has started itself is not killed.
    #[must_use]
    pub fn die_with_parent(mut self, yes: bool) -> Self {
        self.dies_with_parent = yes;
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

    /// Which files the child may use. It can then signal and look into none but its own processes,
    /// too, and as root it has the privileges of one in a container.
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
/// at our own folder. Links in them are not followed, so that what was checked is what is allowed:
/// give canonical paths.
///
/// A program always may read what programs need to start: `/usr`, `/etc` and their like, `/proc`,
/// the harmless devices, itself, and the libraries its interpreter is installed with; and it may
/// write to `/dev/null`. It has no terminal: it is started in a session of its own.
///
/// The kernel watches over contents and names. Whether a file exists can still be found out, and
/// its mode, owner and times can still be changed by who may.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAccess {
    /// Files, and folders with all below, that may be read. What is not there when the child
    /// starts is left out.
    pub read: Vec<PathBuf>,
    /// Files, and folders with all below, that may be read and changed. They must be there.
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
    /// for in the command's `PATH`, or paths, which start at its folder.
    ///
    /// This is about starting programs. Code that a child loads into itself, by the dynamic loader
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
    #[error("the filter for system calls cannot be made")]
    CallFilter(#[source] io::Error),
}

/// Makes `command` start its program confined.
///
/// Set the command's folder, `PATH` and `HOME` before: they decide what its program needs. What
/// this system cannot enforce is left out, and the result says so. When the kernel refuses a
/// restriction that it should know, the child does not start and `spawn` returns the error.
pub fn confine(
    command: &mut Command,
    confinement: &Confinement,
) -> Result<Enforcement, ConfineError> {
    system::confine(command, confinement)
}

/// What this system enforces of `confinement`.
pub fn enforcement(confinement: &Confinement) -> Enforcement {
    system::enforcement(confinement)
}

/// What this system could enforce if it were asked for everything.
pub fn enforceable() -> Enforcement {
    system::enforceable()
}

#[cfg(test)]
mod tests;
