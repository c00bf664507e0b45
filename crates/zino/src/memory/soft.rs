//! The soft memory: one text in one file.

use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;

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
        match fs::read(&self.path) {
            Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
            Err(error) => Err(StoreError::io(&self.path)(error)),
        }
    }

    pub(super) fn set(&self, content: &str) -> Result<(), StoreError> {
        let _guard = self.folder.lock()?;
        file::replace(&self.path, |file| file.write_all(content.as_bytes()))
    }
}
