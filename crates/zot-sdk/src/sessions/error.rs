//! Why an operation on sessions failed.

use std::io;
use std::path::PathBuf;

use zot_session::{FindError, ForkError, SessionError};

use super::UndoError;

/// An operation on sessions failed.
#[derive(Debug, thiserror::Error)]
pub enum OperationError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Fork(#[from] ForkError),
    #[error(transparent)]
    Undo(#[from] UndoError),
    #[error("{0}")]
    Unlisted(#[from] io::Error),
    #[error("there is no session in {cwd}")]
    NoSessionHere { cwd: String },
    #[error("{} exists already", .path.display())]
    Exists { path: PathBuf },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
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
