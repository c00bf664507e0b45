//! Confines the tools to one directory, for as long as the user wants.
//!
//! A path is followed through all links, compared, and then walked without following any
//! ([`Location`]). Commands are confined by the kernel (`zot_process::launch`), and refused where
//! it cannot. Both may also use a private temporary directory.

mod commands;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use zot_files::{Scratch, ScratchDirectory};

use crate::file::{Location, links, reason};
use crate::path::PathError;

pub use commands::CommandConfinement;
pub(crate) use commands::{NotConfined, confine};

/// Whether the tools are confined to the working directory. This can change at any time; a tool
/// call obeys the state in which it began.
#[derive(Debug)]
pub struct Jail {
    cwd: PathBuf,
    readable: Vec<PathBuf>,
    /// Set when the jail is first closed, and kept: a link in the working directory's path may lead
    /// elsewhere later, and a confined tool may have changed it.
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
    /// Creates an open jail around the absolute directory `cwd`. While it is closed, `readable` can
    /// be read as well.
    pub fn new(cwd: impl Into<PathBuf>, readable: Vec<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            readable,
            walls: OnceLock::new(),
            closed: AtomicBool::new(false),
        }
    }

    /// Confines the tools to the returned directory, from the next call on.
    pub fn close(&self) -> Result<&Path, JailError> {
        let failed = |source| JailError {
            directory: self.cwd.clone(),
            source,
        };
        let walls = match self.walls.get() {
            Some(walls) => walls,
            None => {
                let walls = Walls::around(&self.cwd, &self.readable).map_err(failed)?;
                // A concurrent call has found the same.
                self.walls.get_or_init(|| walls)
            }
        };
        self.closed.store(true, Ordering::SeqCst);
        Ok(&walls.root)
    }

    /// Lifts the confinement, from the next call on.
    pub fn open(&self) {
        self.closed.store(false, Ordering::SeqCst);
    }

    /// Returns the directory that the tools are confined to, without links, if they are.
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

/// What confined tools may use. None of its paths has links.
#[derive(Debug)]
pub(crate) struct Walls {
    root: PathBuf,
    readable: Vec<PathBuf>,
    /// Created when first needed.
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

    /// Returns the location of the file that `path` leads to, if it may be used.
    pub(crate) fn admit(&self, path: PathBuf, access: Access) -> Result<Location, PathError> {
        let target = links::follow(&path);
        let scratch = self.scratch.get().map(|scratch| scratch.path().to_owned());
        let readable = self.readable.iter().filter(|_| access == Access::Read);
        let mut roots = std::iter::once(&self.root).chain(&scratch).chain(readable);
        let found = roots.find_map(|root| Some((root, target.strip_prefix(root).ok()?)));
        match found {
            Some((root, inside)) => Ok(Location::Below {
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

    /// Returns the temporary directory, which is removed with the jail.
    pub(crate) fn scratch(&self) -> io::Result<&Path> {
        let scratch = match self.scratch.get() {
            Some(scratch) => scratch,
            None => {
                let made = ScratchDirectory::new(Scratch::Jail)?;
                // If another call was faster, ours is removed again.
                self.scratch.get_or_init(|| made)
            }
        };
        Ok(scratch.path())
    }
}

#[cfg(test)]
mod tests;
