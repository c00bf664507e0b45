//! One process at a time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How often a lock that somebody else holds is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// A lock on a file that is there for nothing else. Given back when dropped, and by the system when
/// the process dies; the file stays, because removing it would let two in at once.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock if nobody holds it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(path)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits for the lock, but not for longer than `patience`. Blocks the thread.
    pub fn acquire(path: &Path, patience: Duration) -> io::Result<Self> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(lock) = Self::try_acquire(path)? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(Self::held());
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }

    /// The error of a lock that somebody else keeps.
    pub fn held() -> io::Error {
        io::Error::new(
            io::ErrorKind::TimedOut,
            "another process holds the lock: try again when it has finished",
        )
    }
}

#[cfg(test)]
mod tests;
