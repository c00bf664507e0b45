//! Opens and replaces files without surprises: nothing hangs, nothing is left half written.

mod replace;

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

pub(crate) use replace::{follow_links as target, random_hex, replace};

/// A file operation that failed, worded as `operation path: reason`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{operation} {}: {}", path.display(), reason(source))]
    System {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is a directory", path.display())]
    Directory { path: PathBuf },
    #[error("{} is a {kind}, not a regular file", path.display())]
    Special { path: PathBuf, kind: &'static str },
    #[error("{} has {size} bytes; the limit for {purpose} is {limit}", path.display())]
    TooLarge {
        path: PathBuf,
        size: u64,
        limit: u64,
        purpose: &'static str,
    },
}

impl FileError {
    /// For `map_err`: what was being done, to which path.
    pub(crate) fn during(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::System {
            operation,
            path: path.to_owned(),
            source,
        }
    }
}

/// Opens a regular file for reading.
///
/// The type is looked at first, because opening a device can do things; and again after opening,
/// because the file may have been swapped for a FIFO, whose opening `O_NONBLOCK` keeps from hanging.
pub(crate) fn open_regular(path: &Path) -> Result<(File, Metadata), FileError> {
    let metadata = path.metadata().map_err(FileError::during("stat", path))?;
    require_regular(path, &metadata)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits() as i32)
        .open(path)
        .map_err(FileError::during("open", path))?;
    let metadata = file.metadata().map_err(FileError::during("stat", path))?;
    require_regular(path, &metadata)?;
    Ok((file, metadata))
}

fn require_regular(path: &Path, metadata: &Metadata) -> Result<(), FileError> {
    let file_type = metadata.file_type();
    let kind = if file_type.is_file() {
        return Ok(());
    } else if file_type.is_dir() {
        return Err(FileError::Directory {
            path: path.to_owned(),
        });
    } else if file_type.is_fifo() {
        "named pipe"
    } else if file_type.is_socket() {
        "socket"
    } else {
        "device"
    };
    Err(FileError::Special {
        path: path.to_owned(),
        kind,
    })
}

/// The system's words for an error in lower case, without the number Rust appends.
pub(crate) fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match error.raw_os_error() {
        Some(code) => text
            .strip_suffix(&format!(" (os error {code})"))
            .unwrap_or(&text),
        None => &text,
    };
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests;
