//! The location of a file: anywhere, or below a directory that must not be left.
//!
//! Below a directory the path is walked one component at a time, each from the directory opened
//! before it, and a link is an error. Links were followed when the location was determined; one
//! that was created since then causes an error, not access to another file. Only Linux can do this
//! in one call, which some containers forbid.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::replace::{follow_links, make_parents};
use super::{FileError, links};

/// How directories on the path are opened. They are not read, so search permission is enough.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY;

/// The location of a file, which need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A path that the system resolves.
    Anywhere(PathBuf),
    Below {
        /// The path as requested.
        shown: PathBuf,
        /// The directory that must not be left, without links.
        root: PathBuf,
        /// The path below it, without links and without `..`.
        inside: PathBuf,
    },
}

impl Location {
    /// Returns the path for messages.
    pub(crate) fn shown(&self) -> &Path {
        match self {
            Self::Anywhere(path) => path,
            Self::Below { shown, .. } => shown,
        }
    }

    /// Returns the path of the file itself, without links; it need not exist.
    pub(crate) fn target(&self) -> PathBuf {
        match self {
            Self::Anywhere(path) => links::follow(path),
            Self::Below { root, inside, .. } => root.join(inside),
        }
    }

    /// Opens the directory the file is in.
    pub(super) fn anchor(&self) -> io::Result<Anchor> {
        match self {
            Self::Anywhere(path) => Ok(Anchor::anywhere(path.clone())),
            Self::Below { root, inside, .. } => {
                let mut directory = open_step(CWD, root)?;
                for step in inside.parent().into_iter().flatten() {
                    directory = open_step(directory.as_fd(), Path::new(step))?;
                }
                Ok(Anchor::within(directory, inside))
            }
        }
    }

    /// Opens the directory of the file itself, and creates missing directories on the path.
    pub(super) fn anchor_for_writing(&self) -> Result<Anchor, FileError> {
        let (root, inside) = match self {
            Self::Anywhere(path) => {
                make_parents(path)?;
                return Ok(Anchor::anywhere(follow_links(path)?));
            }
            Self::Below { root, inside, .. } => (root, inside),
        };
        let mut walked = root.clone();
        let mut directory = open_step(CWD, root).map_err(FileError::during("open", root))?;
        for step in inside.parent().into_iter().flatten() {
            walked.push(step);
            directory = open_or_make(directory.as_fd(), step)
                .map_err(FileError::during("mkdir", &walked))?;
        }
        Ok(Anchor::within(directory, inside))
    }
}

/// A name in an opened directory, or a whole path.
pub(super) struct Anchor {
    /// Without one, `name` is a whole path and links in it are followed.
    directory: Option<OwnedFd>,
    name: PathBuf,
}

impl Anchor {
    fn anywhere(path: PathBuf) -> Self {
        Self {
            directory: None,
            name: path,
        }
    }

    fn within(directory: OwnedFd, inside: &Path) -> Self {
        Self {
            directory: Some(directory),
            name: inside.file_name().unwrap_or(OsStr::new(".")).into(),
        }
    }

    pub(super) fn name(&self) -> &Path {
        &self.name
    }

    pub(super) fn stat(&self) -> io::Result<Stat> {
        let flags = match self.directory {
            Some(_) => AtFlags::SYMLINK_NOFOLLOW,
            None => AtFlags::empty(),
        };
        Ok(rustix::fs::statat(self.directory(), &self.name, flags)?)
    }

    pub(super) fn open(&self, flags: OFlags) -> io::Result<File> {
        self.open_as(&self.name, flags, Mode::empty())
    }

    /// Creates a file that must not exist.
    pub(super) fn create_new(&self, name: &Path, mode: Mode) -> io::Result<File> {
        self.open_as(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL, mode)
    }

    fn open_as(&self, name: &Path, mut flags: OFlags, mode: Mode) -> io::Result<File> {
        flags |= OFlags::CLOEXEC;
        if self.directory.is_some() {
            flags |= OFlags::NOFOLLOW;
        }
        let opened =
            rustix::io::retry_on_intr(|| rustix::fs::openat(self.directory(), name, flags, mode))?;
        Ok(opened.into())
    }

    /// Renames `name` to the name of this.
    pub(super) fn put_in_place(&self, name: &Path) -> io::Result<()> {
        let directory = self.directory();
        Ok(rustix::fs::renameat(
            directory, name, directory, &self.name,
        )?)
    }

    pub(super) fn remove(&self, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            self.directory(),
            name,
            AtFlags::empty(),
        )?)
    }

    fn directory(&self) -> BorrowedFd<'_> {
        self.directory
            .as_ref()
            .map_or(CWD, |directory| directory.as_fd())
    }
}

fn open_step(directory: BorrowedFd<'_>, name: &Path) -> io::Result<OwnedFd> {
    let flags = STEP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened =
        rustix::io::retry_on_intr(|| rustix::fs::openat(directory, name, flags, Mode::empty()));
    Ok(opened?)
}

fn open_or_make(directory: BorrowedFd<'_>, name: &OsStr) -> io::Result<OwnedFd> {
    let name = Path::new(name);
    match open_step(directory, name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match rustix::fs::mkdirat(directory, name, Mode::RWXU | Mode::RWXG | Mode::RWXO) {
        // Another process may have created it first.
        Ok(()) | Err(Errno::EXIST) => open_step(directory, name),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;
