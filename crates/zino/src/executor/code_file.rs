//! Code in a file that only its owner can read, for as long as it runs.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use zot_files::{Scratch, ScratchDirectory};

/// Removed with its directory when it is dropped.
pub(super) struct CodeFile {
    path: PathBuf,
    _directory: ScratchDirectory,
}

impl CodeFile {
    pub(super) fn new(code: &str, extension: &str) -> io::Result<Self> {
        let directory = ScratchDirectory::new(Scratch::Code)?;
        let path = directory.path().join(name(extension));
        write(&path, code)?;
        Ok(Self {
            path,
            _directory: directory,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the name of a file with code.
pub(super) fn name(extension: &str) -> String {
    // The extension comes from a definition file and must not lead out of the directory.
    format!("code{}", extension.replace(['/', '\0'], "_"))
}

pub(super) fn write(path: &Path, code: &str) -> io::Result<()> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?
        .write_all(code.as_bytes())
}
