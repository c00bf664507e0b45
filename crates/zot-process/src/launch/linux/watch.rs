//! Notices changes in directories (inotify). A question costs one system call, however many directories there
//! are.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

/// Files that appear, disappear or get other modes.
const CHANGES: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF);

/// Directories that are watched.
#[derive(Debug)]
pub(crate) struct DirectoryWatch(OwnedFd);

impl DirectoryWatch {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(inotify::init(
            CreateFlags::CLOEXEC | CreateFlags::NONBLOCK,
        )?))
    }

    /// Watches the files in `directory`, not those further down.
    pub(crate) fn add(&self, directory: &Path) -> io::Result<()> {
        let flags = CHANGES | WatchFlags::ONLYDIR | WatchFlags::DONT_FOLLOW;
        inotify::add_watch(&self.0, directory, flags)?;
        Ok(())
    }

    /// Returns whether something has changed since the directory was added.
    pub(crate) fn has_changed(&self) -> bool {
        rustix::io::ioctl_fionread(&self.0) != Ok(0)
    }
}
