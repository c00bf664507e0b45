//! What can go wrong with a session file.

use std::io;
use std::path::{Path, PathBuf};

use crate::lock::Holder;
use crate::replica::ReplicaFailed;

/// A session could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot create {}: {source} (use --no-session to go on without a session file)", .path.display())]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot open {}: {source}", .path.display())]
    Open { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}; everything before it is kept", .path.display())]
    Write { path: PathBuf, source: io::Error },
    /// The second place for the records did not take them.
    #[error("cannot store the session: {source}; everything before it is kept")]
    Replica { source: io::Error },
    #[error(
        "{} is in use by {holder}: nothing was read or written; end that process, or go on in a \
         copy with --fork", .path.display()
    )]
    InUse { path: PathBuf, holder: Holder },
    #[error(
        "{} is not a session: none of its {lines} lines is a record of one", .path.display()
    )]
    NotASession { path: PathBuf, lines: usize },
}

impl SessionError {
    pub(crate) fn create(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Create {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn open(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Open {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn read(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::Read {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| match source.downcast::<ReplicaFailed>() {
            // The file is nothing that anyone knows of.
            Ok(ReplicaFailed(source)) => Self::Replica { source },
            Err(source) => Self::Write {
                path: path.to_owned(),
                source,
            },
        }
    }
}
