//! Cassette files: private to their owner, extended by whole lines, replaced atomically.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use zot_files::Durability;

use super::error::CassetteError;

/// A file that grows by whole lines.
#[derive(Debug)]
pub(super) struct LineFile {
    file: File,
    /// Where the last whole line ends: what a failed write left behind it is cut off.
    end: u64,
}

impl LineFile {
    /// Creates the file, readable by its owner only. An empty file may exist already.
    pub(super) fn create(path: &Path) -> Result<Self, CassetteError> {
        let failed = |source| CassetteError::Create {
            path: path.to_owned(),
            source,
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = zot_files::open_as(path, &mut options).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() > 0 {
            return Err(CassetteError::NotEmpty {
                path: path.to_owned(),
            });
        }
        Ok(Self { file, end: 0 })
    }

    /// Simulates a full disk.
    #[cfg(test)]
    pub(super) fn make_unwritable(&mut self, path: &Path) {
        self.file = File::open(path).expect("the file is there");
    }

    /// Appends `line`, with a single write if the system accepts it whole.
    pub(super) fn append(&mut self, line: &[u8]) -> io::Result<()> {
        if let Err(error) = self.file.write_all(line) {
            // A torn line would make the next one unreadable as well.
            let _ = self.file.set_len(self.end);
            return Err(error);
        }
        self.end += line.len() as u64;
        Ok(())
    }
}

/// Replaces the file at `path` by what `write` produces, or leaves it as it is.
pub(super) fn replace<E: From<io::Error>>(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    zot_files::replace_with(path, 0o600, Durability::PowerLoss, write).map(drop)
}
