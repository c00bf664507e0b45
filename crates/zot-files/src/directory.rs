//! An open directory whose entries are used without following links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fstat};
use rustix::io::Errno;

use crate::durability::Durability;
use crate::kind::require_regular;
use crate::read::SAFE_OPEN;

/// How a directory is opened: without reading it, so that search permission is enough.
#[cfg(target_os = "linux")]
const STEP: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const STEP: OFlags = OFlags::RDONLY;

/// An open directory. Names are looked up in the directory itself, even if its path changes, and
/// symbolic links are refused.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
}

impl Directory {
    /// Opens the directory at `path`, whose last component may not be a link.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::step(CWD, path)
    }

    /// Opens the root of the file system.
    pub(crate) fn root() -> io::Result<Self> {
        Self::open(Path::new("/"))
    }

    /// Opens the directory `name` in this one.
    pub fn enter(&self, name: impl AsRef<Path>) -> io::Result<Self> {
        Self::step(self.descriptor.as_fd(), name.as_ref())
    }

    /// Opens the directory `name` in this one and creates it with `mode` if it is missing.
    pub fn enter_or_create(&self, name: impl AsRef<Path>, mode: u32) -> io::Result<Self> {
        let name = name.as_ref();
        match self.enter(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
        match rustix::fs::mkdirat(&self.descriptor, name, Mode::from_raw_mode(mode as _)) {
            // Another process may have created it first.
            Ok(()) | Err(Errno::EXIST) => self.enter(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file `name` for reading; `None` if it does not exist.
    pub fn open_regular(&self, name: impl AsRef<Path>) -> io::Result<Option<File>> {
        Ok(self
            .open_with_metadata(name.as_ref(), OFlags::RDONLY)?
            .map(|(file, _)| file))
    }

    /// Opens the regular file `name` for appending and creates it with `mode` if it is missing.
    pub fn append(&self, name: impl AsRef<Path>, mode: u32) -> io::Result<File> {
        let name = name.as_ref();
        if let Some(stat) = self.stat(name)? {
            require_regular(FileType::from_raw_mode(stat.st_mode))?;
        }
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | SAFE_OPEN;
        let file = self.open_as(name, flags, mode)?;
        require_regular(FileType::from_raw_mode(fstat(&file)?.st_mode))?;
        Ok(file)
    }

    /// Creates the file `name`, which must not exist.
    pub fn create_new(&self, name: impl AsRef<Path>, mode: u32) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        self.open_as(name.as_ref(), flags, mode)
    }

    pub(crate) fn create_for_appending(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        self.open_as(Path::new(name), flags, mode)
    }

    /// Waits until the entries of this directory are on disk, if `durability` requires it.
    pub fn settle(&self, durability: Durability) -> io::Result<()> {
        match durability {
            Durability::ProcessEnd => Ok(()),
            Durability::PowerLoss => {
                let flags = OFlags::RDONLY | OFlags::DIRECTORY;
                durability.settle(&self.open_as(Path::new("."), flags, 0)?)
            }
        }
    }

    /// Renames `from` to `to`, replacing an existing `to`.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let here = &self.descriptor;
        Ok(rustix::fs::renameat(
            here,
            from.as_ref(),
            here,
            to.as_ref(),
        )?)
    }

    /// Removes the file `name`.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(
            &self.descriptor,
            name.as_ref(),
            AtFlags::empty(),
        )?)
    }

    pub(crate) fn rename_with(
        &self,
        from: &OsStr,
        to: &OsStr,
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let here = &self.descriptor;
        rustix::fs::renameat_with(here, from, here, to, flags)
    }

    /// Returns the metadata of `name` without following a link.
    pub(crate) fn stat(&self, name: impl AsRef<Path>) -> io::Result<Option<Stat>> {
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        match rustix::fs::statat(&self.descriptor, name.as_ref(), flags) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens the regular file `name` and returns it with its metadata. The type is checked before
    /// opening, because opening a device can have side effects, and again afterwards, because the
    /// file may have been swapped.
    pub(crate) fn open_with_metadata(
        &self,
        name: &Path,
        flags: OFlags,
    ) -> io::Result<Option<(File, Stat)>> {
        let Some(stat) = self.stat(name)? else {
            return Ok(None);
        };
        require_regular(FileType::from_raw_mode(stat.st_mode))?;
        let file = self.open_as(name, flags | SAFE_OPEN, 0)?;
        let stat = fstat(&file)?;
        require_regular(FileType::from_raw_mode(stat.st_mode))?;
        Ok(Some((file, stat)))
    }

    fn open_as(&self, name: &Path, flags: OFlags, mode: u32) -> io::Result<File> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode as _);
        let opened =
            rustix::io::retry_on_intr(|| rustix::fs::openat(&self.descriptor, name, flags, mode));
        Ok(opened?.into())
    }

    fn step(from: std::os::fd::BorrowedFd<'_>, name: &Path) -> io::Result<Self> {
        let flags = STEP | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened =
            rustix::io::retry_on_intr(|| rustix::fs::openat(from, name, flags, Mode::empty()));
        Ok(Self {
            descriptor: opened?,
        })
    }
}
