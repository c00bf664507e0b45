//! Temporary directories that do not outlive their process for long, however it ends.
//!
//! The process holds a lock on its directory. The system releases it when the process dies, so the
//! next process can tell an abandoned directory from one in use, even if the process id was reused.

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File};
use std::hash::{BuildHasher as _, RandomState};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::CWD;
use rustix::io::Errno;

use crate::remove::{open_directory, remove_open_tree};

/// The prefixes of scratch directories, in the order of [`Scratch`].
const PREFIXES: [&str; 5] = [
    "zot-jail-",
    "zot-edit-",
    "zot-trial-",
    "zino-exc-",
    "zino-agent-",
];

/// The purpose of a scratch directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scratch {
    /// The temporary files of confined tools.
    Jail,
    /// Text that is open in the user's editor.
    Edit,
    /// The home of an extension on trial.
    Trial,
    /// The code that `exc` runs.
    Code,
    /// The session files of `zino agent`.
    Sessions,
}

impl Scratch {
    fn prefix(self) -> &'static str {
        PREFIXES[self as usize]
    }
}

/// How many random names are tried.
const MAX_SCRATCH_NAME_ATTEMPTS: usize = 100;

/// A directory that only its owner can enter, removed with everything in it when dropped.
#[derive(Debug)]
pub struct ScratchDirectory {
    path: PathBuf,
    /// Marks the directory as in use.
    lock: File,
}

impl ScratchDirectory {
    /// Creates one for `purpose` in the system's temporary directory.
    pub fn new(purpose: Scratch) -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir().canonicalize()?, purpose)
    }

    fn new_in(parent: &Path, purpose: Scratch) -> io::Result<Self> {
        for _ in 0..MAX_SCRATCH_NAME_ATTEMPTS {
            let path = parent.join(format!("{}{}", purpose.prefix(), random_hex()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made?,
            }
            // A sweep may have removed it before it was locked.
            if let Some(lock) = try_lock(&path)?
                && path.is_dir()
            {
                return Ok(Self { path, lock });
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // A later sweep removes what is left.
        let _ = remove_open_tree(self.lock.as_fd(), &self.path);
    }
}

/// Removes the scratch directories of this user whose processes are gone.
pub fn sweep_scratch() {
    if let Ok(parent) = std::env::temp_dir().canonicalize() {
        sweep(&parent);
    }
}

fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_str().unwrap_or_default();
        if !PREFIXES.iter().any(|prefix| name.starts_with(prefix)) {
            continue;
        }
        // Held during the removal, so that no other process sweeps it at the same time.
        if let Ok(Some(lock)) = try_lock(&entry.path()) {
            let _ = remove_open_tree(lock.as_fd(), &entry.path());
        }
    }
}

/// Locks a directory that is ours and not a link; `None` if it is in use.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    // What ran in it may have taken its permissions away.
    let directory = match open_directory(CWD, path) {
        Ok(directory) => File::from(directory),
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if directory.metadata()?.uid() != rustix::process::geteuid().as_raw() {
        return Ok(None);
    }
    let taken = crate::lock::lock_file(&directory, Duration::ZERO);
    Ok(taken.is_ok().then_some(directory))
}

pub(crate) fn random_hex() -> String {
    // The hasher's keys come from the system's random source; names are created exclusively anyway.
    let random = RandomState::new().hash_one(std::process::id());
    format!("{random:016x}")
}
