//! The soft memory: one text in one file.

use std::io::Write as _;
use std::path::PathBuf;

use zot_files::read_bytes;

use super::MAX_STORED_BYTES;
use super::error::StoreError;
use super::file;
use super::folder::Folder;

pub(super) struct SoftMemory {
    folder: Folder,
    path: PathBuf,
}

impl SoftMemory {
    pub(super) fn new(folder: Folder) -> Self {
        Self {
            path: folder.path().join("soft_memory.txt"),
            folder,
        }
    }

    pub(super) fn get(&self) -> Result<String, StoreError> {
        let bytes = read_bytes(&self.path, MAX_STORED_BYTES).map_err(StoreError::io(&self.path))?;
        Ok(String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned())
    }

    pub(super) fn set(&self, content: &str) -> Result<(), StoreError> {
        let _guard = self.folder.lock()?;
        file::replace(&self.path, |file| file.write_all(content.as_bytes()))
    }
}
