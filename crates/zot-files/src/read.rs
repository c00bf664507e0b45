//! Opening files that somebody else may have put there: every file that is found by a configured or
//! conventional path is opened here.
//!
//! Links are followed, as people keep settings elsewhere and link to them. Whatever is at their end
//! must be a regular file: a named pipe would hang the program, a device has no end.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::{FileType, OFlags};

use crate::kind::require_regular;

/// Opening must not wait for the other end of a pipe, nor take a terminal for ours. A file of the
/// kernel that has nothing to say answers at once instead of blocking.
pub(crate) const CAREFULLY: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Why a file could not be read. The caller names the path.
pub type ReadError = io::Error;

/// Opens the regular file at `path` for reading.
pub fn open_existing(path: &Path) -> io::Result<File> {
    open_as(path, OpenOptions::new().read(true))
}

/// Opens the regular file at `path` for reading, if there is one.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    match open_existing(path) {
        Ok(file) => Ok(Some(file)),
        // A file where a directory should be means the same as nothing there.
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

/// Opens a regular file as `options` say. What is there already is looked at before it is opened,
/// because opening a device can have an effect, and again after it.
pub fn open_as(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if let Ok(stat) = rustix::fs::stat(path) {
        require_regular(FileType::from_raw_mode(stat.st_mode))?;
    }
    open_checked(path, options, CAREFULLY)
}

/// The same where not even a link may stand for the file.
pub fn open_itself(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if let Ok(stat) = rustix::fs::lstat(path) {
        require_regular(FileType::from_raw_mode(stat.st_mode))?;
    }
    open_checked(path, options, CAREFULLY | OFlags::NOFOLLOW)
}

fn open_checked(path: &Path, options: &mut OpenOptions, flags: OFlags) -> io::Result<File> {
    let file = options
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    require_regular(FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode))?;
    Ok(file)
}

/// Refuses a path at which something else than a regular file stands. Nothing there is fine.
pub fn check_regular(path: &Path) -> io::Result<()> {
    match rustix::fs::stat(path) {
        Ok(stat) => Ok(require_regular(FileType::from_raw_mode(stat.st_mode))?),
        Err(_) => Ok(()),
    }
}

/// The content of a regular file of at most `limit` bytes; `None` when there is no file.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, ReadError> {
    match open_regular(path)? {
        Some(file) => read_to_limit(file, limit).map(Some),
        None => Ok(None),
    }
}

/// The content of a regular file of at most `limit` bytes, which must be there.
pub fn read_existing(path: &Path, limit: u64) -> Result<Vec<u8>, ReadError> {
    read_to_limit(open_existing(path)?, limit)
}

/// The text of a regular file of at most `limit` bytes, which must be there.
pub fn read_existing_text(path: &Path, limit: u64) -> Result<String, ReadError> {
    into_text(read_existing(path, limit)?)
}

/// The text of a regular file of at most `limit` bytes; `None` when there is no file.
pub fn read_limited(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    read_bytes(path, limit)?.map(into_text).transpose()
}

fn into_text(bytes: Vec<u8>) -> Result<String, ReadError> {
    String::from_utf8(bytes).map_err(|error| {
        let problem = format!("it is not UTF-8 text: {}", error.utf8_error());
        io::Error::new(io::ErrorKind::InvalidData, problem)
    })
}

/// The rest of an opened file, if that has at most `limit` bytes.
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
