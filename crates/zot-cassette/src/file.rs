//! Cassette files: private to their owner, extended by whole lines, replaced atomically.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

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
    // The file itself, not a link to it, is replaced.
    let target = path.canonicalize()?;
    let temporary = temporary_name(&target);
    let result = write_and_rename(&target, &temporary, write);
    if result.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    result
}

fn write_and_rename<E: From<io::Error>>(
    target: &Path,
    temporary: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(temporary)?;
    let mut output = BufWriter::new(file);
    write(&mut output)?;
    let file = output
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    file.set_permissions(fs::metadata(target)?.permissions())?;
    file.sync_all()?;
    fs::rename(temporary, target)?;
    Ok(())
}

fn temporary_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
}
