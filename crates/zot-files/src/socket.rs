//! The file of a Unix socket: taken over from who is gone, never from who is there.

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
    #[error("{} is served already: stop that service first", .0.display())]
    Live(PathBuf),
    #[error("{} is there and is no socket: it is not touched", .0.display())]
    NotASocket(PathBuf),
    #[error("cannot listen on {}: {source}", .path.display())]
    Listen { path: PathBuf, source: io::Error },
}

impl SocketError {
    /// The system refused to bind a socket, or to look at what is there.
    pub fn listen(path: &Path) -> impl Fn(io::Error) -> Self + Copy + '_ {
        |source| Self::Listen {
            path: path.to_owned(),
            source,
        }
    }
}

/// A path at which a socket can be bound now.
#[derive(Debug)]
pub struct SocketPlace {
    path: PathBuf,
    /// Held while one looks and binds: of two that start together, each could take the other's socket
    /// for a stale one. A directory that cannot be locked is no reason not to listen.
    _alone: Option<Lock>,
}

impl SocketPlace {
    /// Clears the path: the socket of a process that is gone is removed.
    pub fn take(path: &Path) -> Result<Self, SocketError> {
        let directory = match path.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        let place = Self {
            path: path.to_owned(),
            _alone: Lock::acquire_directory(directory).ok().flatten(),
        };
        remove_stale(path)?;
        Ok(place)
    }

    /// Gives the socket that was bound there its mode, whatever the mask left of it.
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
    /// Tells our file from one that was put in its place.
    identity: Option<Identity>,
}

impl SocketFile {
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Another process may have taken over meanwhile.
        if self.identity.is_some() && identity(&self.path) == self.identity {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Its number and when it was made, where the file system knows that: numbers are used again.
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
        // Gone meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Someone may well be there, only not for us.
        Err(error) => Err(error),
    }
    .map_err(SocketError::listen(path))
}
