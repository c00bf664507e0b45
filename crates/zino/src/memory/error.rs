//! What can go wrong with stored memory.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub(super) enum StoreError {
    #[error("cannot use {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is not a JSON array and is left unchanged: repair it or move it away", .0.display())]
    NotAnArray(PathBuf),
    #[error("{} keeps being changed by another program: try again", .0.display())]
    Busy(PathBuf),
    #[error("no memory with the id {0}")]
    NoSuchMemory(u64),
    #[error("the service is ending")]
    Stopped,
    #[error("the memory is full")]
    Full,
    #[error("call, owner and fence need a database: set [store] url, or leave them out")]
    NeedsDatabase,
}

impl StoreError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }
}
