//! Keeps the tools in one directory, for as long as the user wants.
//!
//! A path is followed through all links, compared, and then walked without following any
//! ([`Place`]). Commands are held by the kernel (`zot_process::launch`), and refused where it cannot.
//! Both may use a temporary directory of their own, too.

mod commands;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use zot_files::{Scratch, ScratchDirectory};

use crate::file::{Place, links, reason};
use crate::path::PathError;

pub use commands::CommandConfinement;
pub(crate) use commands::{NotConfined, confine};

/// Whether the tools are confined to the working directory, which can change at any time; a tool
/// call is held to what it was when it began.
#[derive(Debug)]
pub struct Jail {
    cwd: PathBuf,
    readable: Vec<PathBuf>,
    /// Made at the first closing, and kept: a link in the working directory's path may lead
    /// elsewhere later, and whoever is in the jail may have done that.
    walls: OnceLock<Walls>,
    closed: AtomicBool,
}

/// The tools cannot be confined.
#[derive(Debug, thiserror::Error)]
#[error("cannot confine tools to {}: {}", directory.display(), reason(source))]
pub struct JailError {
    pub directory: PathBuf,
    pub source: io::Error,
}

impl Jail {
    /// An open jail around the absolute directory `cwd`. While it is closed, what is in `readable` can
    /// be read as well.
    pub fn new(cwd: impl Into<PathBuf>, readable: Vec<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            readable,
            walls: OnceLock::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Confines the tools to the directory that is returned, from the next call on.
    pub fn close(&self) -> Result<&Path, JailError> {
        let failed = |source| JailError {
            directory: self.cwd.clone(),
            source,
        };
        let walls = match self.walls.get() {
            Some(walls) => walls,
            None => {
                let walls = Walls::around(&self.cwd, &self.readable).map_err(failed)?;
                // Whoever was faster has found the same.
                self.walls.get_or_init(|| walls)
            }
        };
        self.closed.store(true, Ordering::SeqCst);
        Ok(&walls.root)
    }

    /// Lets the tools out again, from the next call on.
    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    /// The directory the tools are confined to, without links, if they are.
    pub fn directory(&self) -> Option<&Path> {
        self.walls().map(|walls| walls.root.as_path())
    }

    pub(crate) fn walls(&self) -> Option<&Walls> {
        let closed = self.closed.load(Ordering::SeqCst);
        self.walls.get().filter(|_| closed)
    }
}

/// What a tool is about to do with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Change,
}

/// What confined tools may use. No path in it has links.
#[derive(Debug)]
pub(crate) struct Walls {
    root: PathBuf,
    readable: Vec<PathBuf>,
    /// Made when first needed.
    scratch: OnceLock<ScratchDirectory>,
}

impl Walls {
    fn around(directory: &Path, readable: &[PathBuf]) -> io::Result<Self> {
        let readable = readable.iter().filter_map(|path| path.canonicalize().ok());
        Ok(Self {
            root: directory.canonicalize()?,
            readable: readable.collect(),
            scratch: OnceLock::new(),
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Where the file is that `path` leads to, if it may be used.
    pub(crate) fn admit(&self, path: PathBuf, access: Access) -> Result<Place, PathError> {
        let target = links::follow(&path);
        let scratch = self.scratch.get().map(|scratch| scratch.path().to_owned());
        let readable = self.readable.iter().filter(|_| access == Access::Read);
        let mut roots = std::iter::once(&self.root).chain(&scratch).chain(readable);
        let found = roots.find_map(|root| Some((root, target.strip_prefix(root).ok()?)));
        match found {
            Some((root, inside)) => Ok(Place::Below {
                root: root.clone(),
                inside: inside.to_owned(),
                shown: path,
            }),
            None => Err(PathError::Outside {
                target: (target != path).then_some(target),
                path,
                directory: self.root.clone(),
            }),
        }
    }

    /// The temporary directory, which goes with the jail.
    pub(crate) fn scratch(&self) -> io::Result<&Path> {
        let scratch = match self.scratch.get() {
            Some(scratch) => scratch,
            None => {
                let made = ScratchDirectory::new(Scratch::Jail)?;
                // If another call was faster, ours goes again.
                self.scratch.get_or_init(|| made)
            }
        };
        Ok(scratch.path())
    }
}

#[cfg(test)]
mod tests;
