//! Errors of operations on sessions.

use std::io;
use std::path::PathBuf;

use zot_session::{FindError, ForkError, SessionError};

use super::UndoError;

/// An operation on sessions failed.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    /// The session was not found.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The session cannot be read or written.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The session cannot be forked.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// Nothing was undone.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The sessions cannot be listed.
    #[error("{0}")]
    Unlisted(#[from] io::Error),
    /// The working directory has no session.
    #[error("no session in {cwd}")]
    NoSessionHere {
        /// The working directory.
        cwd: String,
    },
    /// The file to write exists.
    #[error("{} exists already", .path.display())]
    Exists {
        /// The path concerned.
        path: PathBuf,
    },
    /// The file cannot be written.
    #[error("cannot write {}: {source}", .path.display())]
    Write {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Not all sessions were deleted.
#[derive(Debug, thiserror::Error)]
#[error("{source}")]
pub struct DeleteError {
    /// The files that were deleted before it failed.
    pub deleted: Vec<PathBuf>,
    source: OperationError,
}

impl DeleteError {
    pub(super) fn new(deleted: Vec<PathBuf>, source: OperationError) -> Self {
        Self { deleted, source }
    }
}
