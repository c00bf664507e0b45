//! One writer at a time.

use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use zot_files::{LockError, lock_file};

use crate::SessionError;

/// The process that has a session open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Holder {
    /// Known on Linux, unless the process is in another pid namespace.
    pub pid: Option<u32>,
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(formatter, "process {pid}"),
            None => formatter.write_str("another process"),
        }
    }
}

/// Fails with the holder if another process has the session open, so that it cannot be resumed now.
pub fn check_free(path: &Path) -> Result<(), SessionError> {
    let file = zot_files::open_existing(path).map_err(SessionError::open(path))?;
    take(&file, path)
}

/// Locks the session for as long as `file` is open; the system releases the lock however we end.
pub(crate) fn take(file: &File, path: &Path) -> Result<(), SessionError> {
    match lock_file(file, Duration::ZERO) {
        Ok(()) => Ok(()),
        Err(LockError::Held) => Err(SessionError::InUse {
            path: path.to_owned(),
            holder: Holder { pid: holder(file) },
        }),
        // Some network file systems have no locks: the session is written without one.
        Err(LockError::System(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        Err(LockError::System(error)) => Err(SessionError::open(path)(error)),
    }
}

/// Returns the process that holds the lock.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = format!(":{}", file.metadata().ok()?.ino());
    // `1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF`; waiting processes have `->` after the
    // number.
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|lock| {
        let mut fields = lock.split_whitespace().skip(1);
        if fields.next()? != "FLOCK" {
            return None;
        }
        let pid = fields.nth(2)?.parse().ok()?;
        // On some file systems the device differs from that of `stat`.
        (pid > 0 && fields.next()?.ends_with(&inode)).then_some(pid)
    })
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &File) -> Option<u32> {
    None
}
