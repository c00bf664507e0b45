//! Renames what a confined program left where it must not leave anything.
//!
//! A path that does not exist cannot be made read-only. Whoever supervises the program therefore looks
//! when no process of it is left, so that nothing can interfere.

use std::ffi::CString;
use std::io;

use rustix::fs::{AtFlags, CWD, RenameFlags, renameat_with, statat};

use super::namespaces::c_string;
use crate::launch::{FileIdentity, Swept};

/// The paths to look at, prepared so that a supervisor allocates nothing.
#[derive(Default)]
pub(super) struct Sweep(Vec<Entry>);

struct Entry {
    path: CString,
    renamed: CString,
    before: Option<FileIdentity>,
}

impl Sweep {
    pub(super) fn new(swept: &[Swept]) -> io::Result<Self> {
        let entry = |swept: &Swept| {
            Ok(Entry {
                path: c_string(&swept.path)?,
                renamed: c_string(&swept.renamed)?,
                before: swept.before,
            })
        };
        swept.iter().map(entry).collect::<io::Result<_>>().map(Self)
    }

    /// Makes system calls only. Links are renamed, not followed.
    pub(super) fn carry_out(&self) {
        for entry in &self.0 {
            let Ok(stat) = statat(CWD, &*entry.path, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let found = FileIdentity {
                device: stat.st_dev,
                inode: stat.st_ino,
                changed: (stat.st_ctime, stat.st_ctime_nsec as i64),
            };
            if entry.before != Some(found) {
                let flags = RenameFlags::NOREPLACE;
                let _ = renameat_with(CWD, &*entry.path, CWD, &*entry.renamed, flags);
            }
        }
    }
}
