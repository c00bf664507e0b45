//! Tells files apart that have the same path one after the other.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::SystemTime;

/// Tells a file from one that replaced it, whatever else was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Birth {
    device: u64,
    inode: u64,
    /// Numbers of inodes are used again. Not every file system knows it.
    time: Option<SystemTime>,
}

impl Birth {
    pub(super) fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            time: found.created().ok(),
        }
    }

    /// Returns that of the file at `path`, or where a link there leads.
    pub(super) fn at(path: &Path) -> Option<Self> {
        Some(Self::of(&path.metadata().ok()?))
    }
}
