//! Opens and replaces files safely: nothing hangs, nothing is left half written.

mod attributes;
pub(crate) mod links;
mod location;
mod process;
mod replace;
mod same;

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Mode, OFlags, fstat};

#[cfg(test)]
pub(crate) use location::WITHOUT_OPENAT2;
pub(crate) use location::{Location, OwnDirectory};
pub(crate) use replace::{MAX_LINKS, random_hex, replace};

/// Opening must not wait for the other end of a FIFO, nor make a terminal the controlling one.
const CAREFULLY: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// A file operation that failed, worded as `operation path: reason`.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    #[error("{operation} {}: {}", path.display(), reason(source))]
    System {
        operation: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "{} is not in the sandbox, where {} is a directory of its own; only the user can allow the file \
         outside, with --sandbox-read {} (zot --continue, with this flag added)",
        path.display(), place.display(), target.display()
    )]
    NotInPlace {
        path: PathBuf,
        place: PathBuf,
        /// Where the links of the path lead.
        target: PathBuf,
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
    #[error(
        "{} holds the keys of a running program, so it is not read", path.display()
    )]
    Secret { path: PathBuf },
    #[error("{} is another name of {}, which is protected; only the user can allow this, with \
             --sandbox-write {} (zot --continue, with this flag added)",
            path.display(), protected.display(), protected.display())]
    Protected { path: PathBuf, protected: PathBuf },
}

impl FileError {
    /// Returns a function for `map_err` that adds the operation and the path.
    pub(crate) fn during(operation: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::System {
            operation,
            path: path.to_owned(),
            source,
        }
    }

    /// Returns whether the file does not exist.
    pub(crate) fn is_missing(&self) -> bool {
        match self {
            Self::System { source, .. } => is_missing(source),
            Self::NotInPlace { .. } => true,
            _ => false,
        }
    }
}

/// Opens a regular file for reading.
///
/// The type is checked first, because opening a device can have side effects; and again after
/// opening, because the file may have been replaced with a FIFO, which `O_NONBLOCK` keeps from
/// blocking.
pub(crate) fn open_regular(location: &Location) -> Result<(File, Metadata), FileError> {
    let path = location.shown();
    let stat_failed = |error: io::Error| match location.own_place() {
        Some((place, target)) if is_missing(&error) => FileError::NotInPlace {
            path: path.to_owned(),
            place,
            target,
        },
        _ => FileError::during("stat", path)(error),
    };
    let anchor = location.anchor().map_err(&stat_failed)?;
    let stat = anchor.stat().map_err(&stat_failed)?;
    require_regular(path, FileType::from_raw_mode(stat.st_mode))?;
    let file = anchor
        .open(OFlags::RDONLY | CAREFULLY)
        .map_err(FileError::during("open", path))?;
    let stat = fstat(&file).map_err(|error| stat_failed(error.into()))?;
    require_regular(path, FileType::from_raw_mode(stat.st_mode))?;
    if process::is_secret(&file) {
        return Err(FileError::Secret {
            path: path.to_owned(),
        });
    }
    let metadata = file.metadata().map_err(stat_failed)?;
    Ok((file, metadata))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Creates a file that only its owner can read; it must not exist yet.
pub(crate) fn create_private(location: &Location) -> io::Result<File> {
    let anchor = location.anchor()?;
    anchor.create_new(anchor.name(), Mode::RUSR | Mode::WUSR)
}

fn require_regular(path: &Path, file_type: FileType) -> Result<(), FileError> {
    let kind = match file_type {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => {
            return Err(FileError::Directory {
                path: path.to_owned(),
            });
        }
        FileType::Fifo => "named pipe",
        FileType::Socket => "socket",
        // Only where links are not followed.
        FileType::Symlink => "symbolic link",
        _ => "device",
    };
    Err(FileError::Special {
        path: path.to_owned(),
        kind,
    })
}

/// Returns the system's message for an error in lower case, without the number that Rust appends.
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
