//! Opens and reads files at configured or conventional paths, which other programs may control.
//!
//! Links are followed, because people link to settings that they keep elsewhere. The target must be
//! a regular file: a named pipe would hang the program, and a device may never end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FileType, OFlags};

use crate::kind::require_regular;

/// Opening must not wait for the other end of a pipe, nor acquire a controlling terminal. Reading a
/// kernel file without data fails instead of blocking.
pub(crate) const SAFE_OPEN: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Why a file could not be read. The caller adds the path.
pub type ReadError = io::Error;

/// Opens the regular file at `path` for reading.
pub fn open_existing(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().read(true))
}

/// Opens the regular file at `path` for reading, if it exists.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    match open_existing(path) {
        Ok(file) => Ok(Some(file)),
        // A path below a file does not exist either.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Opens a regular file with `options`. The type is checked before opening, because opening a device
/// can have side effects, and again afterwards.
pub fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if let Ok(stat) = rustix::fs::stat(path) {
        require_regular(FileType::from_raw_mode(stat.st_mode))?;
    }
    open_checked(path, options, SAFE_OPEN)
}

/// Opens a regular file as [`open_as`] does, but refuses a symbolic link.
pub fn open_itself(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if let Ok(stat) = rustix::fs::lstat(path) {
        require_regular(FileType::from_raw_mode(stat.st_mode))?;
    }
    open_checked(path, options, SAFE_OPEN | OFlags::NOFOLLOW)
}

fn open_checked(path: &Path, options: &mut OpenOptions, flags: OFlags) -> io::Result<File> {
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    require_regular(FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode))?;
    Ok(file)
}

/// Checks that `path` is a regular file or does not exist.
pub fn check_regular(path: &Path) -> io::Result<()> {
    match rustix::fs::stat(path) {
        Ok(stat) => Ok(require_regular(FileType::from_raw_mode(stat.st_mode))?),
        Err(_) => Ok(()),
    }
}

/// Reads a regular file of at most `limit` bytes; `None` if it does not exist.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    match open_regular(path)? {
        Some(file) => read_to_limit(file, limit).map(Some),
        None => Ok(None),
    }
}

/// Reads a regular file of at most `limit` bytes, which must exist.
pub fn read_existing(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_to_limit(open_existing(path)?, limit)
}

/// Reads a UTF-8 file of at most `limit` bytes, which must exist.
pub fn read_existing_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    into_text(read_existing(path, limit)?)
}

/// Reads a UTF-8 file of at most `limit` bytes; `None` if it does not exist.
pub fn read_limited(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    read_bytes(path, limit)?.map(into_text).transpose()
}

fn into_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let problem = format!("it is not UTF-8 text: {}", error.utf8_error());
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

/// Reads the rest of an open file, which may have at most `limit` bytes.
pub fn read_to_limit(file: File, limit: u64) -> Result<Vec<u8>, ReadError> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        true => Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it is larger than {limit} bytes, the limit"),
        )),
        false => Ok(bytes),
    }
}

#[cfg(test)]
mod tests;
