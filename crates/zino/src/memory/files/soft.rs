//! The soft memory: one text in one file.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use zot_files::read_bytes;

use super::MAX_STORED_BYTES;
use super::directory::Directory;
use super::file;
use crate::memory::error::StoreError;

pub(super) struct SoftMemory {
    directory: Directory,
    path: PathBuf,
}

impl SoftMemory {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            path: directory.path().join("soft_memory.txt"),
            directory,
        }
    }

    pub(super) fn get(&self) -> Result<String, StoreError> {
        let bytes = read_bytes(&self.path, MAX_STORED_BYTES).map_err(StoreError::io(&self.path))?;
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    }

    pub(super) fn set(&self, content: &str) -> Result<(), StoreError> {
        self.set_bytes(content.as_bytes())
    }

    pub(super) fn set_bytes(&self, content: &[u8]) -> Result<(), StoreError> {
        let _guard = self.directory.lock()?;
        file::replace(&self.path, |file| file.write_all(content))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}
