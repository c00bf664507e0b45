//! The error for a path that is not a regular file.

use std::io;

use rustix::fs::FileType;

/// A path led to something other than a regular file. The caller adds the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is {found}, expected a regular file")]
pub struct NotRegular {
    /// For example `a named pipe`.
    pub found: &'static str,
}

impl NotRegular {
    /// Returns the `NotRegular` inside `error`, if there is one.
    pub fn of(error: &io::Error) -> Option<Self> {
        error.get_ref()?.downcast_ref().copied()
    }
}

impl From<NotRegular> for io::Error {
    fn from(error: NotRegular) -> Self {
        Self::new(io::ErrorKind::InvalidInput, error)
    }
}

/// Refuses everything but a regular file.
pub(crate) fn require_regular(file_type: FileType) -> Result<(), NotRegular> {
    let found = match file_type {
        FileType::RegularFile => return Ok(()),
        FileType::Directory => "a directory",
        FileType::Fifo => "a named pipe",
        FileType::Socket => "a socket",
        // Reported only where links are not followed.
        FileType::Symlink => "a symbolic link",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Unknown => "something unknown",
    };
    Err(NotRegular { found })
}
