//! Reads untrusted files: nothing hangs, nothing is read without a limit.

#[cfg(test)]
mod tests;

use std::fs::{self, DirEntry, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use zot_files::{NotRegular, WalkError};

/// How many entries of a directory are read.
///
/// Limit: further entries are ignored.
pub(crate) const MAX_DIRECTORY_ENTRIES: usize = 10_000;

/// Why a file is not used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("cannot be read: {0}")]
    System(#[from] io::Error),
    #[error("is {found}, expected a regular file")]
    NotAFile { found: &'static str },
    #[error("is not UTF-8 text")]
    NotText,
    #[error("is longer than {limit} bytes")]
    TooLong { limit: usize },
    /// A project could expose its user's files to the model that way.
    #[error("is a link that leads out of {}", root.display())]
    LeadsOut { root: PathBuf },
}

impl ReadError {
    pub(crate) fn is_absence(&self) -> bool {
        // A file where the path needs a directory also counts as absence.
        matches!(self, Self::System(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory))
    }
}

/// The beginning of a file.
#[derive(Debug)]
pub(crate) struct Beginning {
    pub(crate) bytes: Vec<u8>,
    /// How long the whole file was when it was opened.
    pub(crate) length: u64,
}

/// Reads at most `limit` bytes of a regular file.
pub(crate) fn read_beginning(path: &Path, limit: usize) -> Result<Beginning, ReadError> {
    beginning_of(zot_files::open_existing(path).map_err(not_a_file)?, limit)
}

/// Reads at most `limit` bytes of a regular file whose path was resolved: a link that was created
/// since is not followed.
pub(crate) fn read_resolved(path: &Path, limit: usize) -> Result<Beginning, ReadError> {
    let opened = zot_files::open_walked(path).map_err(|error| match error {
        WalkError::System(error) => not_a_file(error),
        other => ReadError::System(io::Error::other(other)),
    });
    beginning_of(opened?, limit)
}

fn beginning_of(file: File, limit: usize) -> Result<Beginning, ReadError> {
    let metadata = file.metadata()?;
    let mut bytes = Vec::new();
    file.take(limit as u64).read_to_end(&mut bytes)?;
    let length = metadata.len().max(bytes.len() as u64);
    Ok(Beginning { bytes, length })
}

/// Reads a text that must not be longer than `limit`.
pub(crate) fn read_text(path: &Path, limit: usize) -> Result<String, ReadError> {
    let beginning = read_beginning(path, limit + 1)?;
    if beginning.bytes.len() > limit {
        return Err(ReadError::TooLong { limit });
    }
    String::from_utf8(beginning.bytes).map_err(|_| ReadError::NotText)
}

/// Returns the entries of a directory, up to the limit.
pub(crate) fn entries(directory: &Path) -> io::Result<impl Iterator<Item = DirEntry>> {
    Ok(fs::read_dir(directory)?
        .take(MAX_DIRECTORY_ENTRIES)
        .flatten())
}

fn not_a_file(error: io::Error) -> ReadError {
    match NotRegular::of(&error) {
        Some(NotRegular { found }) => ReadError::NotAFile { found },
        None => ReadError::System(error),
    }
}

/// Converts `bytes` to text. A character that is cut off at the end is left out; any other invalid
/// UTF-8 is an error.
pub(crate) fn text_of_beginning(mut bytes: Vec<u8>, cut: Cut) -> Result<String, ReadError> {
    if cut == Cut::Somewhere
        && let Err(error) = str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    String::from_utf8(bytes).map_err(|_| ReadError::NotText)
}

/// Whether only the beginning of a text was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Nowhere,
    Somewhere,
}

/// Refuses a path that leads out of `root` through links. `root` must be resolved already.
pub(crate) fn require_inside(path: &Path, root: &Path) -> Result<PathBuf, ReadError> {
    let resolved = path.canonicalize()?;
    match resolved.starts_with(root) {
        true => Ok(resolved),
        false => Err(ReadError::LeadsOut {
            root: root.to_owned(),
        }),
    }
}
