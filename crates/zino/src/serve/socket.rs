//! A socket for its owner and group only, which replaces one that is no longer served.

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use zot_files::{SocketError, SocketFile, SocketPath};

const SOCKET_MODE: u32 = 0o660;
const DIRECTORY_MODE: u32 = 0o750;

/// How many clients may wait to be accepted; the system may allow fewer.
///
/// Limit: further clients wait to connect.
const SOCKET_QUEUE_LENGTH: u32 = 4096;

/// Why a service cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(transparent)]
    Socket(#[from] SocketError),
    #[error("cannot create the directory {}: {source}", .path.display())]
    Directory { path: PathBuf, source: io::Error },
}

/// A listening socket. Its file is removed when it is dropped.
pub struct Socket {
    listener: UnixListener,
    file: SocketFile,
}

impl Socket {
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        make_directory(path)?;
        let place = SocketPath::claim(path)?;
        let listener = listen(path).map_err(SocketError::listen(path))?;
        Ok(Self {
            listener,
            file: place.bound(SOCKET_MODE)?,
        })
    }

    pub async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }
}

/// Listens on a socket that no other user can use, from the moment its file exists.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let socket = UnixSocket::new_stream()?;
    // Linux gives the file the mode of the socket. Elsewhere this does nothing, and until its mode is
    // set the file has what the mask leaves; there the directory is what keeps others out.
    let _ = fchmod(&socket, Mode::from_raw_mode(SOCKET_MODE as _));
    socket.bind(path)?;
    socket.listen(SOCKET_QUEUE_LENGTH)
}

fn make_directory(path: &Path) -> Result<(), BindError> {
    let Some(directory) = path
        .parent()
        .filter(|directory| !directory.as_os_str().is_empty())
    else {
        return Ok(());
    };
    if directory.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
        // The group gets access whatever the umask.
        .and_then(|()| fs::set_permissions(directory, fs::Permissions::from_mode(DIRECTORY_MODE)))
        .map_err(|source| BindError::Directory {
            path: directory.to_owned(),
            source,
        })
}
