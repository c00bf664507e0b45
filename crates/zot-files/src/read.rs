//! Reading a file of settings, which somebody else may have put there.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Why a file could not be read. The caller names the path.
pub type ReadError = io::Error;

/// Opens a file, if there is one, that nothing but a regular file may stand for.
pub fn open_regular(path: &Path) -> io::Result<Option<File>> {
    let opened = OpenOptions::new()
        .read(true)
        // A named pipe in place of the file must not stall the start.
        .custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed())
        .open(path);
    let file = match opened {
        Ok(file) => file,
        // A file where a folder should be means the same as nothing there.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    match file.metadata()?.is_file() {
        true => Ok(Some(file)),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        )),
    }
}

/// The text of a regular file of at most `limit` bytes; `None` when there is no file.
pub fn read_limited(path: &Path, limit: u64) -> Result<Option<String>, ReadError> {
    let Some(file) = open_regular(path)? else {
        return Ok(None);
    };
    let mut text = String::new();
    file.take(limit + 1).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {limit} bytes"),
        ));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests;
