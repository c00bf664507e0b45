//! A folder of stored files and the lock that orders whatever makes, replaces or removes them.

use std::fs::{DirBuilder, File, OpenOptions};
use std::path::{Path, PathBuf};

use super::error::StoreError;

#[derive(Debug, Clone)]
pub(super) struct Folder(PathBuf);

/// Holds the lock until it is dropped.
pub(super) struct FolderLock {
    _file: File,
}

impl Folder {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Locks the folder, which is made when it is not there.
    pub(super) fn lock(&self) -> Result<FolderLock, StoreError> {
        let path = self.0.join(".lock");
        DirBuilder::new()
            .recursive(true)
            .create(&self.0)
            .map_err(StoreError::io(&self.0))?;
        let file = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(StoreError::io(&path))?;
        file.lock().map_err(StoreError::io(&path))?;
        Ok(FolderLock { _file: file })
    }
}
