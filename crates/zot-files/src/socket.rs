//! The file of a Unix socket: a stale one is replaced, a live one never.

#[cfg(test)]
mod tests;

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::Lock;

/// Why a socket cannot be bound at a path.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    #[error("{} is already served: stop that service first", .0.display())]
    Live(PathBuf),
    #[error("{} exists and is not a socket: move it away, or choose another path", .0.display())]
    NotASocket(PathBuf),
    #[error("cannot listen on {}: {source}", .path.display())]
    Listen { path: PathBuf, source: io::Error },
}

impl SocketError {
    /// Wraps an error of the system while a socket was bound or its path examined.
    pub fn listen(path: &Path) -> impl Fn(io::Error) -> Self + Copy + '_ {
        |source| Self::Listen {
            path: path.to_owned(),
            source,
        }
    }
}

/// A path that is free for a socket.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Held from the check to the bind: of two processes that start together, each could take the
    /// other's socket for a stale one. A directory that cannot be locked does not prevent listening.
    _lock: Option<Lock>,
}

impl SocketPath {
    /// Claims the path and removes a stale socket from it.
    pub fn claim(path: &Path) -> Result<Self, SocketError> {
        let directory = match path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        let claimed = Self {
            path: path.to_owned(),
            _lock: Lock::acquire_directory(directory).ok().flatten(),
        };
        remove_stale(path)?;
        Ok(claimed)
    }

    /// Sets the mode of the socket that was bound, regardless of the umask.
    pub fn bound(self, mode: u32) -> Result<SocketFile, SocketError> {
        fs::set_permissions(&self.path, Permissions::from_mode(mode))
            .map_err(SocketError::listen(&self.path))?;
        Ok(SocketFile {
            identity: identity(&self.path),
            path: self.path,
        })
    }
}

/// The file of a bound socket. It is removed when this is dropped.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Distinguishes our file from one that replaced it.
    identity: Option<Identity>,
}

impl SocketFile {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another process may have replaced the socket.
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Inode and creation time, where the file system records one: inodes are reused.
type Identity = (u64, Option<SystemTime>);

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.ino(), found.created().ok()))
}

fn remove_stale(path: &Path) -> Result<(), SocketError> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        return Err(SocketError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Ok(_) => return Err(SocketError::Live(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        // Its owner removed it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // There may be a live owner that we cannot reach.
        Err(error) => Err(error),
    }
    .map_err(SocketError::listen(path))
}
