//! A control group for a child that has no PID namespace: the kernel ends every process in it at once,
//! whatever it has done to its supervisor.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd as _, RawFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, unlinkat};

use super::namespaces::c_string;
use crate::raw::{self, Side};

/// The names of our groups begin with this; the process that made it and a number follow.
const PREFIX: &str = "zot-";

/// The age of a group that its process cannot be about to use.
const ABANDONED_AGE: Duration = Duration::from_secs(60);

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
        let name = format!("{PREFIX}{}-{number}", std::process::id());
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
    pub(super) fn remove(&self) -> rustix::io::Result<()> {
        unlinkat(CWD, &*self.path, AtFlags::REMOVEDIR)
    }
}

impl Drop for ControlGroup {
    /// Removes a group that was never used. One with processes stays, and is removed by their supervisor.
    fn drop(&mut self) {
        let _ = self.remove();
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
        let trial = ControlGroup::at(&path.join(format!("{PREFIX}{}-trial", std::process::id())));
        drop(trial.ok()?);
        remove_abandoned(&path);
        Some(path)
    })
    .as_deref()
}

/// Removes the empty groups of processes that were killed before they, or their supervisors, could. Those
/// with processes in them cannot be removed.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(owner);
        let is_old = entry
            .metadata()
            .and_then(|found| found.modified())
            .is_ok_and(|made| made.elapsed().is_ok_and(|age| age > ABANDONED_AGE));
        // In a container, the owner can be a process that we cannot see.
        if is_old && owner.is_some_and(|owner| !Path::new("/proc").join(owner).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Returns the process in the name of a group.
fn owner(name: &str) -> Option<&str> {
    let (owner, number) = name.strip_prefix(PREFIX)?.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(owner) && is_number(number)).then_some(owner)
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
    use super::{directory, owner};
    use std::path::Path;

    #[test]
    fn groups_are_ours_by_their_names() {
        assert_eq!(owner("zot-123-4"), Some("123"));
        for other in [
            "zot-123",
            "zot-123-",
            "zot-1x-4",
            "zot-../1-4",
            "user-123-4",
        ] {
            assert_eq!(owner(other), None, "{other}");
        }
    }

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
