//! A control group for a child that has no PID namespace: the kernel ends every process in it at once,
//! whatever it has done to its supervisor.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, unlinkat};

use super::namespaces::c_string;
use crate::raw::{self, Side};

/// The group of one child.
pub(super) struct ControlGroup {
    path: CString,
    directory: File,
    kill: File,
}

impl ControlGroup {
    /// Makes a group below our own; `None` where that was not delegated to us.
    pub(super) fn new() -> Option<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("zot-{}-{number}", std::process::id());
        Self::at(&own()?.join(name)).ok()
    }

    fn at(path: &Path) -> io::Result<Self> {
        fs::create_dir(path)?;
        let kill = OpenOptions::new()
            .write(true)
            .open(path.join("cgroup.kill"));
        match kill.and_then(|kill| Ok((File::open(path)?, kill))) {
            Ok((directory, kill)) => Ok(Self {
                path: c_string(path)?,
                directory,
                kill,
            }),
            // Linux before 5.14 has no `cgroup.kill`.
            Err(error) => {
                let _ = fs::remove_dir(path);
                Err(error)
            }
        }
    }

    /// Forks; the child begins in the group, and so does everything that it will start. System calls
    /// only.
    ///
    /// A process that exists could be moved, but the kernel makes all others wait for that.
    pub(super) fn fork(&self) -> rustix::io::Result<Side> {
        raw::fork_into(self.directory.as_raw_fd())
    }

    /// Returns the descriptor that ends the group when `1` is written to it.
    pub(super) fn kill_descriptor(&self) -> RawFd {
        self.kill.as_raw_fd()
    }

    /// Removes the empty group. System calls only.
    pub(super) fn remove(&self) {
        let _ = unlinkat(CWD, &*self.path, AtFlags::REMOVEDIR);
    }
}

impl Drop for ControlGroup {
    /// Removes a group that was never used. One with processes stays, and is removed by their supervisor.
    fn drop(&mut self) {
        self.remove();
    }
}

/// Returns whether control groups can be made here.
pub(super) fn is_delegated() -> bool {
    own().is_some()
}

/// Returns the directory of our own group, if groups can be made in it.
fn own() -> Option<&'static Path> {
    static OWN: OnceLock<Option<PathBuf>> = OnceLock::new();
    OWN.get_or_init(|| {
        let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
        let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
        let path = directory(&mounts, &groups)?;
        let trial = ControlGroup::at(&path.join(format!("zot-{}-trial", std::process::id())));
        drop(trial.ok()?);
        Some(path)
    })
    .as_deref()
}

/// Finds the directory in the lists of the kernel: the mount of the second version, and our place in it.
fn directory(mounts: &str, groups: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let is_second_version = kind.starts_with("cgroup2 ");
        is_second_version.then(|| place.split(' ').nth(4))?
    })?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    // A group above the mount cannot be reached through it.
    let is_inside = !own.split('/').any(|part| part == "..");
    is_inside.then(|| Path::new(mount).join(own))
}

#[cfg(test)]
mod tests {
    use super::directory;
    use std::path::Path;

    #[test]
    fn the_own_group_is_found() {
        let mounts = "25 1 0:2 / /proc rw - proc proc rw\n\
                      30 25 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        let groups = "3:cpu:/\n0::/user.slice/app.scope\n";
        let found = directory(mounts, groups);
        let expected = Path::new("/sys/fs/cgroup/user.slice/app.scope");
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(directory(mounts, "0::/../other\n"), None);
        assert_eq!(
            directory("25 1 0:2 / /proc rw - proc proc rw\n", groups),
            None
        );
    }
}
