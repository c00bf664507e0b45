//! Namespaces: a confined child cannot name processes outside its own namespace, and every file that it
//! may not change is on a read-only mount. Landlock covers contents and names of files; read-only mounts
//! cover modes, owners, times and attributes.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, mount, mount_change,
    move_mount, open_tree,
};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

use crate::raw::{self, Side};

/// How namespaces can be created here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Means {
    /// With our own privileges.
    Privileged,
    /// In a user namespace that maps only our own user.
    UserNamespace,
}

/// Returns how a child can get namespaces; the error is the reason why not. Tried once, in a separate
/// process.
pub(super) fn available() -> Result<Means, String> {
    static RESULT: OnceLock<Result<Means, String>> = OnceLock::new();
    RESULT.get_or_init(probe).clone()
}

fn probe() -> Result<Means, String> {
    let is_privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    let mut means = vec![Means::UserNamespace];
    if is_privileged {
        means.insert(0, Means::Privileged);
    }
    let mut refusal = Errno::PERM;
    for means in means {
        let mut namespaces = Namespaces::new(means, Path::new("/"), &[])
            .map_err(|error| format!("cannot prepare namespaces: {error}"))?;
        match raw::probe(|| namespaces.try_out()) {
            Ok(()) => return Ok(means),
            Err(error) => refusal = error,
        }
    }
    Err(format!(
        "this system refuses namespaces ({})",
        io::Error::from(refusal)
    ))
}

/// The namespaces of one child, prepared in the parent.
pub(super) struct Namespaces {
    /// The content of `/proc/self/uid_map` and `gid_map`; `None` without a user namespace.
    maps: Option<(String, String)>,
    writable: Vec<Writable>,
    /// The directory of the child, which it must enter again: its current one is on the old mount.
    directory: CString,
    /// Whether everything is writable, so that nothing is made read-only.
    is_all_writable: bool,
}

/// A file or directory that stays writable.
struct Writable {
    path: CString,
    /// Device and inode, to detect a replacement.
    identity: (u64, u64),
    /// Set in the child: the path in its namespace, and a copy of the mounts there.
    opened: Option<(OwnedFd, OwnedFd)>,
}

impl Namespaces {
    pub(super) fn new(means: Means, directory: &Path, writable: &[PathBuf]) -> io::Result<Self> {
        let maps = (means == Means::UserNamespace).then(|| {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            (format!("{user} {user} 1"), format!("{group} {group} 1"))
        });
        let mut namespaces = Self {
            maps,
            writable: Vec::new(),
            directory: c_string(&std::path::absolute(directory)?)?,
            is_all_writable: false,
        };
        for path in writable {
            let path = std::path::absolute(path)?;
            namespaces.is_all_writable |= path == Path::new("/");
            let opened = rustix::fs::open(&path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            namespaces.writable.push(Writable {
                path: c_string(&path)?,
                identity: identity(&opened)?,
                opened: None,
            });
        }
        Ok(namespaces)
    }

    /// Returns whether a user namespace is among them.
    pub(super) fn changes_user(&self) -> bool {
        self.maps.is_some()
    }

    /// Moves this process to its user namespace; the next child is the first in a PID namespace.
    pub(super) fn prepare_fork(&self) -> rustix::io::Result<()> {
        let Some((users, groups)) = &self.maps else {
            return raw::unshare(UnshareFlags::NEWPID);
        };
        // Files in `/proc` of a process that cannot be dumped belong to root.
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        raw::unshare(UnshareFlags::NEWUSER | UnshareFlags::NEWPID)?;
        let written = write_to(c"/proc/self/setgroups", b"deny")
            .and_then(|()| write_to(c"/proc/self/uid_map", users.as_bytes()))
            .and_then(|()| write_to(c"/proc/self/gid_map", groups.as_bytes()));
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        written
    }

    /// Gives this process, the first of its PID namespace, a private view of the file system.
    pub(super) fn mount(&mut self) -> rustix::io::Result<()> {
        raw::unshare(UnshareFlags::NEWNS)?;
        // Our mounts stay private; unmounts of the system propagate to us.
        let propagation = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
        mount_change(c"/", propagation)?;
        if !self.is_all_writable {
            for writable in &mut self.writable {
                writable.copy()?;
            }
            raw::mount_all_read_only()?;
            for writable in &self.writable {
                writable.restore()?;
            }
        }
        // Fails where parts of `/proc` are hidden, as in containers. The old one stays, read-only.
        let flags =
            MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RDONLY;
        let _ = mount(c"proc", c"/proc", c"proc", flags, None);
        // If this fails, so does every use of a relative path in the child.
        let _ = rustix::process::chdir(&*self.directory);
        Ok(())
    }

    /// Performs the steps of a child, in a process that does nothing else.
    fn try_out(&mut self) -> rustix::io::Result<()> {
        self.prepare_fork()?;
        match raw::fork()? {
            Side::Child => {
                let outcome = self.mount();
                raw::exit(outcome.err().map_or(0, Errno::raw_os_error));
            }
            Side::Parent { child } => {
                let ended =
                    rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())?;
                match ended.and_then(|(_, status)| status.exit_status()) {
                    Some(0) => Ok(()),
                    Some(code) => Err(Errno::from_raw_os_error(code)),
                    None => Err(Errno::PERM),
                }
            }
        }
    }
}

impl Writable {
    /// Copies the mounts here and below, to restore them later.
    fn copy(&mut self) -> rustix::io::Result<()> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let target = openat(CWD, &*self.path, flags, Mode::empty())?;
        if identity(&target)? != self.identity {
            // It was replaced after it had been allowed.
            return Err(Errno::STALE);
        }
        let flags = OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::AT_RECURSIVE;
        let copy = open_tree(&target, c"", flags)?;
        self.opened = Some((target, copy));
        Ok(())
    }

    fn restore(&self) -> rustix::io::Result<()> {
        let Some((target, copy)) = &self.opened else {
            return Ok(());
        };
        let flags =
            MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        move_mount(copy, c"", target, c"", flags)
    }
}

fn identity(opened: &OwnedFd) -> rustix::io::Result<(u64, u64)> {
    let stat = fstat(opened)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn write_to(path: &std::ffi::CStr, bytes: &[u8]) -> rustix::io::Result<()> {
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, bytes).map(|_| ())
}

fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
