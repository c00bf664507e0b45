//! Hidden temporary directories for unfinished installations and removals.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::{Pid, test_kill_process};

/// Hidden, so that discovery skips it; followed by the id of the process.
const PREFIX: &str = ".zot-tmp-";

/// A directory that is removed with everything in it when dropped.
#[derive(Debug)]
pub(crate) struct TemporaryDirectory(PathBuf);

impl TemporaryDirectory {
    pub(crate) fn new_in(parent: &Path) -> io::Result<Self> {
        static COUNTER: AtomicU32 = AtomicU32::new(0);
        loop {
            let count = COUNTER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{PREFIX}{}-{count}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by an earlier process with the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the directory now, reporting failure.
    pub(crate) fn remove(self) -> io::Result<()> {
        fs::remove_dir_all(&self.0)
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // It may be gone already; if it cannot be removed, the next installation tries again.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes the directories of processes that were killed before they could do so.
pub(crate) fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok())
            .and_then(Pid::from_raw);
        if owner.is_some_and(|owner| test_kill_process(owner) == Err(rustix::io::Errno::SRCH)) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
