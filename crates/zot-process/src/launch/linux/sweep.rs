//! Renames what a confined program left where it must not leave anything.
//!
//! A path that does not exist cannot be made read-only. Whoever supervises the program therefore looks
//! when no process of it is left, so that nothing can interfere.

use std::ffi::{CStr, CString};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use rustix::fs::{
    AtFlags, CWD, Mode, OFlags, RenameFlags, ResolveFlags, openat2, renameat_with, statat,
};

use crate::launch::{FileIdentity, Sweeping};

/// Room for the longest name of the system, with the suffix and its end.
///
/// Limit: a longer name is cut when it is swept.
const MAX_SWEPT_NAME_BYTES: usize = 512;

/// The paths to look at, prepared so that a supervisor allocates nothing.
#[derive(Default)]
pub(super) struct Sweep(Arc<Sweeping>);

impl Sweep {
    pub(super) fn new(sweeping: &Arc<Sweeping>) -> Self {
        Self(Arc::clone(sweeping))
    }

    /// Makes system calls only. Links are renamed, and never followed: they may be the program's.
    pub(super) fn carry_out(&self) {
        let directories = &self.0.directories;
        let is_unchanged = |(path, before): &(CString, Option<FileIdentity>)| {
            before.is_some() && found_at(CWD, path) == *before
        };
        if directories.iter().all(is_unchanged) {
            return;
        }
        for entry in self.0.swept.iter() {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let links = ResolveFlags::NO_SYMLINKS;
            let Ok(directory) = openat2(CWD, &*entry.directory, flags, Mode::empty(), links) else {
                continue;
            };
            let found = found_at(directory.as_fd(), &entry.name);
            if found.is_some() && found != entry.before {
                self.rename(directory.as_fd(), &entry.name);
            }
        }
    }

    fn rename(&self, directory: BorrowedFd<'_>, name: &CStr) {
        let mut renamed = [0; MAX_SWEPT_NAME_BYTES];
        let suffix = self.0.suffix.bytes();
        let bytes = name.to_bytes().iter().chain(&suffix);
        // The last byte stays the end of the text.
        for (to, from) in renamed.iter_mut().take(MAX_SWEPT_NAME_BYTES - 1).zip(bytes) {
            *to = *from;
        }
        if let Ok(renamed) = CStr::from_bytes_until_nul(&renamed) {
            let _ = renameat_with(directory, name, directory, renamed, RenameFlags::NOREPLACE);
        }
    }
}

fn found_at(directory: BorrowedFd<'_>, path: &CStr) -> Option<FileIdentity> {
    let stat = statat(directory, path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileIdentity {
        device: stat.st_dev,
        inode: stat.st_ino,
        changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
    })
}
