//! A socket that only its owner and group can use, in the place of one nobody serves any more.

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileTypeExt as _, PermissionsExt as _};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, fchmod, flock};
use tokio::net::{UnixListener, UnixSocket, UnixStream};

const SOCKET_MODE: u32 = 0o660;
const FOLDER_MODE: u32 = 0o750;

/// How many may wait to be accepted; the system may allow fewer. Who finds the queue full waits.
const QUEUED_CONNECTIONS: u32 = 4096;

/// Why a service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{} is served already: stop that service first", .0.display())]
    Live(PathBuf),
    #[error("{} is there and is no socket: it is not touched", .0.display())]
    NotASocket(PathBuf),
    #[error("cannot make the folder {}: {source}", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot listen on {}: {source}", .path.display())]
    Listen { path: PathBuf, source: io::Error },
}

/// A listening socket. Its file is removed when it is dropped.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Tells our file from one that was put in its place.
    inode: Option<u64>,
}

impl Socket {
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        make_folder(path)?;
        let _alone = lock_folder(path);
        remove_stale(path)?;
        let failed = |source| BindError::Listen {
            path: path.to_owned(),
            source,
        };
        let listener = listen(path).map_err(failed)?;
        // The mask may have taken from it.
        fs::set_permissions(path, fs::Permissions::from_mode(SOCKET_MODE)).map_err(failed)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            inode: inode(path),
        })
    }

    pub async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Another process may have taken over meanwhile.
        if self.inode.is_some() && inode(&self.path) == self.inode {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens on a socket that nobody else can use from the moment its file is there.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    // Linux gives the file the mode of the socket. Elsewhere this does nothing, and until its mode is
    // set the file has what the mask leaves; there the folder is what keeps others out.
    let _ = fchmod(&socket, Mode::from_raw_mode(SOCKET_MODE as _));
    socket.bind(path)?;
    socket.listen(QUEUED_CONNECTIONS)
}

fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt as _;
    fs::symlink_metadata(path)
        .ok()
        .map(|metadata| metadata.ino())
}

fn make_folder(path: &Path) -> Result<(), BindError> {
    let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    else {
        return Ok(());
    };
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(FOLDER_MODE)
        .create(folder)
        // The group is let in whatever the mask says.
        .and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(FOLDER_MODE)))
        .map_err(|source| BindError::Folder {
            path: folder.to_owned(),
            source,
        })
}

/// Held while one looks and binds: of two that start together, each could take the other's socket
/// for a stale one. A folder that cannot be locked is no reason not to serve.
fn lock_folder(path: &Path) -> Option<File> {
    let folder = path.parent()?;
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let folder = File::open(folder).ok()?;
    flock(&folder, FlockOperation::LockExclusive).ok()?;
    Some(folder)
}

/// Removes the socket of a service that is gone. A live one is left alone.
fn remove_stale(path: &Path) -> Result<(), BindError> {
    let Ok(metadata) = fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !metadata.file_type().is_socket() {
        return Err(BindError::NotASocket(path.to_owned()));
    }
    match BlockingStream::connect(path) {
        Ok(_) => return Err(BindError::Live(path.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        // Gone meanwhile.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Someone may well be there, only not for us.
        Err(error) => Err(error),
    }
    .map_err(|source| BindError::Listen {
        path: path.to_owned(),
        source,
    })
}
