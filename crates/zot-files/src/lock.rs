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

/// A lock on a file that is there for nothing else, or on a directory. Given back when dropped, and by
/// the system when the process dies; the file stays, because removing it would let two in at once.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock if nobody holds it.
    pub fn try_acquire(path: &Path) -> io::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).read(true).write(true);
        let file = crate::read::open_as(path, options.mode(0o600))?;
        Self::try_lock(file)
    }

    /// Waits for the lock, but not for longer than `patience`. Blocks the thread.
    pub fn acquire(path: &Path, patience: Duration) -> io::Result<Self> {
        Self::wait(patience, || Self::try_acquire(path))
    }

    /// Waits for the lock on a directory, which leaves nothing behind in it. Blocks the thread.
    ///
    /// `None` where directories cannot be locked, as on some network file systems.
    pub fn acquire_directory(directory: &Path, patience: Duration) -> io::Result<Option<Self>> {
        let lock = Self::wait(patience, || Self::try_lock(File::open(directory)?));
        match lock {
            Ok(lock) => Ok(Some(lock)),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(error),
            Err(_) => Ok(None),
        }
    }

    fn wait(
        patience: Duration,
        attempt: impl Fn() -> io::Result<Option<Self>>,
    ) -> io::Result<Self> {
        let deadline = Instant::now() + patience;
        loop {
            if let Some(lock) = attempt()? {
                return Ok(lock);
            }
            if Instant::now() >= deadline {
                return Err(Self::held());
            }
            thread::sleep(RETRY_INTERVAL);
        }
    }

    fn try_lock(file: File) -> io::Result<Option<Self>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
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
