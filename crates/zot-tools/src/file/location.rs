//! The location of a file: anywhere, or below a directory that must not be left.
//!
//! Below a directory the path is opened without following any link, in one call where the system can
//! (`openat2`), else one component at a time, each from the directory opened before it. Links were
//! followed when the location was determined; one that was created since then causes an error, not
//! access to another file.

mod beneath;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, Stat};
use zot_process::sandbox::Layout;

use super::replace::{follow_links, make_parents};
use super::{FileError, links};
#[cfg(test)]
pub(crate) use beneath::WITHOUT_OPENAT2;
use beneath::{open_beneath, open_or_make, open_root};

/// The location of a file, which need not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Location {
    /// A path that the system resolves.
    Anywhere(PathBuf),
    Below {
        /// The path as requested.
        shown: PathBuf,
        /// The directory that must not be left, or a single file; without links.
        root: PathBuf,
        /// The path below it, without links and without `..`.
        inside: PathBuf,
        /// What a command calls the file, without links.
        target: PathBuf,
        /// The sandbox whose protected files must not be changed under another name.
        layout: Option<Arc<Layout>>,
        /// The directory of the sandbox itself that the file is in.
        own: Option<OwnDirectory>,
    },
}

/// A directory of the sandbox, which is removed with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnDirectory {
    Home,
    Temporary,
}

impl OwnDirectory {
    fn words(self) -> &'static str {
        match self {
            Self::Home => "home directory",
            Self::Temporary => "temporary directory",
        }
    }
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
            Self::Below { root, inside, .. } if inside.as_os_str().is_empty() => root.clone(),
            Self::Below { root, inside, .. } => root.join(inside),
        }
    }

    /// Returns what commands call the directory of the sandbox that the file is in, and the file, if there
    /// is another directory at this path outside.
    pub(super) fn own_place(&self) -> Option<(PathBuf, PathBuf)> {
        let Self::Below {
            root,
            inside,
            target,
            ..
        } = self
        else {
            return None;
        };
        let place = target.ancestors().nth(inside.components().count())?;
        (place != root).then(|| (place.to_owned(), target.clone()))
    }

    /// Returns a line for the result of a tool that has changed the file, if it will not stay.
    pub(crate) fn fate(&self) -> Option<String> {
        let Self::Below {
            shown,
            own: Some(own),
            ..
        } = self
        else {
            return None;
        };
        Some(format!(
            "[sandbox] {} is in the sandbox's own {}: it is removed when zot ends, and is not a file of the user",
            shown.display(),
            own.words()
        ))
    }

    /// Returns how the file is replaced here.
    pub(super) fn replacing(&self) -> Replacing<'_> {
        match self {
            Self::Anywhere(_) => Replacing::AsUsual,
            Self::Below { inside, .. } if inside.as_os_str().is_empty() => Replacing::OnlyInPlace,
            Self::Below { layout, .. } => Replacing::Apart(layout.as_deref()),
        }
    }

    /// Opens the directory the file is in.
    pub(super) fn anchor(&self) -> io::Result<Anchor> {
        let (root, inside) = match self {
            Self::Anywhere(path) => return Ok(Anchor::anywhere(path.clone())),
            Self::Below { root, inside, .. } => (root, inside),
        };
        if let (Some(parent), Some(name)) = (inside.parent(), inside.file_name()) {
            let directory = open_beneath(open_root(root)?, parent)?;
            return Ok(Anchor::within(directory, name));
        }
        // The place itself, which can be a file.
        match (root.parent(), root.file_name()) {
            (Some(parent), Some(name)) => Ok(Anchor::within(open_root(parent)?, name)),
            _ => Ok(Anchor::within(open_root(root)?, OsStr::new("."))),
        }
    }

    /// Opens the directory of the file itself, and creates missing directories on the path.
    pub(super) fn anchor_for_writing(&self) -> Result<Anchor, FileError> {
        let (root, inside, target) = match self {
            Self::Anywhere(path) => {
                make_parents(path)?;
                return Ok(Anchor::anywhere(follow_links(path)?));
            }
            Self::Below {
                root,
                inside,
                target,
                ..
            } => (root, inside, target),
        };
        match self.anchor() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // The walk below finds out which component is in the way.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {}
            anchor => return anchor.map_err(FileError::during("open", self.shown())),
        }
        let mut directory = open_root(root).map_err(FileError::during("open", self.shown()))?;
        let depth = inside.components().count();
        for (step, name) in inside.parent().into_iter().flatten().enumerate() {
            directory = open_or_make(directory.as_fd(), name).map_err(|error| {
                let walked = target.ancestors().nth(depth - step - 1);
                FileError::during("mkdir", walked.unwrap_or(target))(error)
            })?;
        }
        let name = inside.file_name().unwrap_or(OsStr::new("."));
        Ok(Anchor::within(directory, name))
    }
}

/// How a file is replaced.
#[derive(Debug, Clone, Copy)]
pub(super) enum Replacing<'a> {
    /// All its names keep leading to it.
    AsUsual,
    /// Under this name only: a file with several names may have one that is protected, or outside.
    Apart(Option<&'a Layout>),
    /// Its directory must not be changed.
    OnlyInPlace,
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

    fn within(directory: OwnedFd, name: &OsStr) -> Self {
        Self {
            directory: Some(directory),
            name: name.into(),
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

#[cfg(test)]
mod tests;
