//! Code in a file that only its owner can read, for as long as it runs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use zot_files::{Scratch, ScratchDirectory};

/// Removed with its directory when it is dropped.
pub(super) struct CodeFile {
    directory: ScratchDirectory,
    path: PathBuf,
}

impl CodeFile {
    pub(super) fn new(code: &str, extension: &str) -> io::Result<Self> {
        let directory = ScratchDirectory::new(Scratch::Code)?;
        // The extension comes from a definition file and must not lead out of the directory.
        let extension = extension.replace(['/', '\0'], "_");
        let path = directory.path().join(format!("code{extension}"));
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?
            .write_all(code.as_bytes())?;
        Ok(Self { directory, path })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory beside the code for the program's temporary files.
    pub(super) fn scratch(&self) -> io::Result<PathBuf> {
        let scratch = self.directory.path().join("tmp");
        fs::create_dir(&scratch)?;
        Ok(scratch)
    }
}
