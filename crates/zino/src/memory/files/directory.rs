//! A directory of stored files, and the lock for creating, replacing and removing them.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use zot_files::{create_private_directory, open_itself};

use super::file::FILE_MODE;
use crate::memory::error::StoreError;

#[derive(Debug, Clone)]
pub(super) struct Directory(PathBuf);

/// Holds the lock until it is dropped.
pub(super) struct DirectoryLock {
    _file: File,
}

impl Directory {
    pub(super) fn new(path: PathBuf) -> Self {
        Self(path)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Locks the directory, creating it if needed.
    pub(super) fn lock(&self) -> Result<DirectoryLock, StoreError> {
        let path = self.0.join(".lock");
        create_private_directory(&self.0).map_err(StoreError::io(&self.0))?;
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false);
        let file = open_itself(&path, options.mode(FILE_MODE)).map_err(StoreError::io(&path))?;
        file.lock().map_err(StoreError::io(&path))?;
        Ok(DirectoryLock { _file: file })
    }
}
