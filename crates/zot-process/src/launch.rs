//! Restricts a child between `fork` and `exec`.
//!
//! A [`Confinement`] lists the restrictions, [`confine`] prepares them for a command, and the
//! [`Enforcement`] it returns reports what this system really enforces. A confined child inherits no
//! descriptors except the standard streams. Everything that allocates or opens files happens before the
//! fork. Limits on files and network apply to all descendants, cannot be removed, and disable
//! set-user-ID programs.

mod enforcement;
mod programs;
mod sweeping;

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

use std::ffi::CString;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use thiserror::Error;

pub(crate) use sweeping::{FileIdentity, Renamed, Sweeping, Swept, are_unchanged};

#[cfg(test)]
pub(crate) use system::can_limit_root;
pub(crate) use system::{
    DirectoryWatch, FileRules, SYSTEM_FILES, View, files_needed, namespaces_available,
};

/// The restrictions of a child. The default has none.
#[derive(Debug, Clone, Default)]
pub struct Confinement {
    open_files: Option<u64>,
    memory_limit: Option<u64>,
    processes: Option<u64>,
    processor_seconds: Option<u64>,
    files: Option<FileAccess>,
    /// The rules for these files, if they were made before.
    rules: Option<Arc<FileRules>>,
    view: Option<Arc<View>>,
    guarded: Vec<Guarded>,
    sweeping: Arc<Sweeping>,
    without_network: bool,
    without_local_sockets: bool,
}

/// What a child finds in the file system and the network, instead of what is there. See [`View`].
#[derive(Debug, Clone, Default)]
pub(crate) struct ViewPlan {
    /// The directory that becomes the root, with all mount points in it.
    pub(crate) root: PathBuf,
    /// Outer ones before inner ones.
    pub(crate) mounts: Vec<PlannedMount>,
    /// The directory below the root for pseudo-terminals of its own.
    pub(crate) terminals: Option<PathBuf>,
    /// Whether the child has a network of its own, with nothing but loopback.
    pub(crate) has_own_network: bool,
}

/// A file or directory of a view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PlannedMount {
    pub(crate) source: PathBuf,
    /// Where the child finds it.
    pub(crate) target: PathBuf,
    pub(crate) is_writable: bool,
    /// An empty directory for what a child changes, if the source shall stay as it is.
    pub(crate) changes: Option<PathBuf>,
}

/// A file or directory that must be the one that was found when the child starts, because its rights
/// depend on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Guarded {
    pub(crate) path: CString,
    /// Device and inode.
    pub(crate) identity: (u64, u64),
    pub(crate) guard: Guard,
}

/// What a child in a view cannot do to a file or directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guard {
    /// It is only looked at.
    None,
    /// Rename or remove it.
    Held,
    /// Change it or anything in it.
    ReadOnly,
}

impl Confinement {
    /// Sets the soft limit of open descriptors per process, which the child can raise.
    #[must_use]
    pub fn open_files(mut self, count: Option<u64>) -> Self {
        self.open_files = count;
        self
    }

    /// Limits the data memory of each process: heap, thread stacks, private writable mappings.
    /// Reserved address space does not count (Node reserves gigabytes), nor does shared memory.
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory_limit = Some(bytes);
        self
    }

    /// Limits how many processes and threads the user may have, in the user namespace if there is one.
    /// Root may have up to 300 more, and is not limited where `Enforcement::process_count` says so.
    #[must_use]
    pub fn processes(mut self, count: Option<u64>) -> Self {
        self.processes = count;
        self
    }

    /// Limits the processor time of each process.
    #[must_use]
    pub fn processor_seconds(mut self, seconds: Option<u64>) -> Self {
        self.processor_seconds = seconds;
        self
    }

    /// Restricts the child to `access`, with rules that were made for it before.
    #[must_use]
    pub(crate) fn prepared_files(mut self, access: FileAccess, rules: Arc<FileRules>) -> Self {
        self.files = Some(access);
        self.rules = Some(rules);
        self
    }

    /// Runs the child in a view, with a PID namespace of its own.
    #[must_use]
    pub(crate) fn view(mut self, view: Arc<View>, guarded: Vec<Guarded>) -> Self {
        self.view = Some(view);
        self.guarded = guarded;
        self
    }

    /// Renames what a child created in these places, once it has ended.
    #[must_use]
    pub(crate) fn sweep(mut self, sweeping: Arc<Sweeping>) -> Self {
        self.sweeping = sweeping;
        self
    }

    /// Restricts the child to these files. It can then also signal, trace, limit and schedule only its
    /// own processes, and as root it has the privileges of root in a container.
    ///
    /// Without a view, Landlock and system call filters do this alone.
    #[must_use]
    pub fn filesystem(mut self, access: FileAccess) -> Self {
        self.files = Some(access);
        self
    }

    /// Sets whether the child may open sockets. If not, `socket` fails with `EACCES` for every family,
    /// except those of the internet in a view that has a network of its own; `socketpair` still works.
    ///
    /// This alone stops programs, not attackers: code that may write every file can make another
    /// program connect. Restrict the files as well.
    #[must_use]
    pub fn network(mut self, allowed: bool) -> Self {
        self.without_network = !allowed;
        self.without_local_sockets |= !allowed;
        self
    }

    /// Sets whether the child may open Unix sockets. If not, it cannot make a local service, such as a
    /// session or container manager, use files on its behalf.
    #[must_use]
    pub fn local_sockets(mut self, allowed: bool) -> Self {
        self.without_local_sockets = !allowed;
        self
    }
}

/// The files a child may use; everything else is refused with `EACCES`, or missing in a view. Paths are absolute or relative
/// to our working directory. Links in them are not followed, so that the checked path is the allowed
/// one: pass canonical paths.
///
/// A program may always read what programs need to start: `/usr`, `/etc` and the like, `/proc`, the
/// harmless devices, itself, and the libraries of its interpreter; and it may write to `/dev/null`. It
/// has no terminal, because it starts in a new session.
///
/// Mode, owner, times and attributes can be changed where files can. A child can still find out whether
/// a file exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileAccess {
    /// Files and directory trees that may be read. Paths that do not exist when the child starts are
    /// left out.
    pub read: Vec<PathBuf>,
    /// Files and directory trees that may be read and changed. They must exist.
    pub write: Vec<PathBuf>,
    pub execute: Execution,
}

/// The programs a confined child may start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Execution {
    /// Every program it can read.
    #[default]
    Anything,
    /// Itself and these, each with the [`programs_needed`] to start it: names to look up in the
    /// command's `PATH`, or paths relative to its directory.
    ///
    /// This covers starting programs, including those in memory (`memfd_create`). Code that a child
    /// loads into itself, for instance through the dynamic loader, is subject to all other
    /// restrictions. Files that are not executable are left out.
    Only(Vec<PathBuf>),
}

/// Why a command could not be confined. It must not be started.
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
    #[error("cannot prepare namespaces")]
    Namespaces(#[source] io::Error),
    #[error("cannot create the system call filter")]
    CallFilter(#[source] io::Error),
}

/// A command with its restrictions, for [`ProcessGroup::spawn`](crate::ProcessGroup::spawn) and
/// [`run`](crate::run()). One converted from a plain command has none.
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
    /// Returns the command, to set its standard streams; nothing else may change any more.
    pub fn command_mut(&mut self) -> &mut Command {
        &mut self.command
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn into_command(self) -> Command {
        let Self {
            command,
            steps: system::Steps {},
        } = self;
        command
    }
}

/// Makes the command start its program under a supervisor at the other end of `control`.
#[cfg(target_os = "linux")]
pub(crate) fn install(confined: Confined, control: std::os::unix::net::UnixStream) -> Command {
    let Confined { mut command, steps } = confined;
    linux::install(&mut command, steps, control);
    command
}

/// Prepares the restrictions of `command`.
///
/// Set the command's directory, `PATH` and `HOME` first: they determine which files its program needs.
/// What this system cannot enforce is left out, and the [`Enforcement`] reports that. If the kernel
/// refuses a restriction that it should support, `spawn` fails with the error.
pub fn confine(
    command: Command,
    confinement: &Confinement,
) -> Result<(Confined, Enforcement), ConfineError> {
    let steps = system::steps(&command, confinement)?;
    Ok((Confined { command, steps }, enforcement(confinement)))
}

/// Renames what is at the paths now, as the supervisor of a run does.
pub(crate) fn sweep(sweeping: &Arc<Sweeping>) {
    system::sweep(sweeping);
}

/// Returns what this system enforces of `confinement`.
pub fn enforcement(confinement: &Confinement) -> Enforcement {
    system::enforcement(confinement)
}

/// Describes how this system keeps confined children from other processes, and from the modes, owners
/// and times of files they may not change.
pub fn isolation() -> String {
    system::isolation_report()
}

/// Returns what this system can enforce.
pub fn enforceable() -> Enforcement {
    system::enforceable()
}

#[cfg(test)]
mod tests;
