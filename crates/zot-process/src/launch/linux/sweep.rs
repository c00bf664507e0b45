//! Renames what a confined program left where it must not leave anything.
//!
//! A path that does not exist cannot be made read-only. Whoever supervises the program therefore looks
//! when no process of it is left, so that nothing can interfere.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, RenameFlags, renameat_with, statat};

use crate::launch::{FileIdentity, Sweeping};

/// Room for the longest path of the system, with its end.
const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// The paths to look at, prepared so that a supervisor allocates nothing.
#[derive(Default)]
pub(super) struct Sweep(Arc<Sweeping>);

impl Sweep {
    pub(super) fn new(sweeping: &Arc<Sweeping>) -> Self {
        Self(Arc::clone(sweeping))
    }

    /// Makes system calls only. Links are renamed, not followed.
    pub(super) fn carry_out(&self) {
        let directories = &self.0.directories;
        let is_unchanged =
            |(path, before): &(_, _)| Option::is_some(before) && found_at(path) == *before;
        if directories.iter().all(is_unchanged) {
            return;
        }
        for entry in self.0.swept.iter() {
            let found = found_at(&entry.path);
            if found.is_some() && found != entry.before {
                self.rename(&entry.path);
            }
        }
    }

    fn rename(&self, path: &CStr) {
        let mut name = [0; PATH_BYTES];
        let suffix = self.0.suffix.bytes();
        let path_bytes = path.to_bytes();
        let (Some(start), Some(rest)) = (
            name.get_mut(..path_bytes.len()),
            path_bytes.len().checked_add(suffix.len()),
        ) else {
            return;
        };
        start.copy_from_slice(path_bytes);
        let Some(end) = name.get_mut(path_bytes.len()..rest) else {
            return;
        };
        end.copy_from_slice(&suffix);
        if let Ok(renamed) = CStr::from_bytes_until_nul(&name) {
            let _ = renameat_with(CWD, path, CWD, renamed, RenameFlags::NOREPLACE);
        }
    }
}

fn found_at(path: &CString) -> Option<FileIdentity> {
    let stat = statat(CWD, &**path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(FileIdentity {
        device: stat.st_dev,
        inode: stat.st_ino,
        changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
    })
}
