//! Locks between processes.

#[cfg(test)]
mod tests;

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

/// The longest wait for a process that is changing a small file.
///
/// Limit: the change fails with an error; a socket is opened without the lock.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// The interval between attempts to take a lock that another process holds.
const RETRY_INTERVAL: Duration = Duration::from_millis(5);

/// Why a lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("another process holds the lock: try again when it has finished")]
    Held,
    #[error(transparent)]
    System(#[from] io::Error),
}

impl From<LockError> for io::Error {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held => Self::new(io::ErrorKind::TimedOut, error),
            LockError::System(error) => error,
        }
    }
}

/// A lock on a dedicated file, or on a directory. Released when dropped, and by the system when the
/// process dies. The file stays: removing it would let two processes hold the lock.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock if no other process holds it.
    pub fn try_acquire(path: &Path) -> Result<Self, LockError> {
        Self::acquire_within(path, Duration::ZERO)
    }

    /// Waits a few seconds for the lock. Blocks the thread.
    pub fn acquire(path: &Path) -> Result<Self, LockError> {
        Self::acquire_within(path, LOCK_PATIENCE)
    }

    /// Waits for a lock on the directory itself, which leaves no file in it. Blocks the thread.
    ///
    /// Returns `None` where directories cannot be locked, as on some network file systems.
    pub fn acquire_directory(directory: &Path) -> Result<Option<Self>, LockError> {
        Self::acquire_directory_within(directory, LOCK_PATIENCE)
    }

    fn acquire_within(path: &Path, patience: Duration) -> Result<Self, LockError> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let file = crate::read::open_as(path, options.mode(0o600))?;
        lock_file(&file, patience)?;
        Ok(Self { _file: file })
    }

    fn acquire_directory_within(
        directory: &Path,
        patience: Duration,
    ) -> Result<Option<Self>, LockError> {
        // Another program may have put a named pipe in its place.
        let flags = OFlags::DIRECTORY.bits().cast_signed();
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(directory)
            .map_err(LockError::from);
        let locked = opened.and_then(|file| lock_file(&file, patience).map(|()| file));
        match locked {
            Ok(file) => Ok(Some(Self { _file: file })),
            Err(LockError::Held) => Err(LockError::Held),
            Err(LockError::System(_)) => Ok(None),
        }
    }
}

/// Locks an open file until it is closed, waiting at most `patience`. Blocks the thread.
pub fn lock_file(file: &File, patience: Duration) -> Result<(), LockError> {
    let deadline = Instant::now() + patience;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if Instant::now() >= deadline => return Err(LockError::Held),
            Err(Errno::WOULDBLOCK) => thread::sleep(RETRY_INTERVAL),
            Err(error) => return Err(io::Error::from(error).into()),
        }
    }
}
