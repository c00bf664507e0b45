//! A socket that only its owner can use, in a directory that only its owner can enter.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use zot_files::{SocketError, SocketFile, SocketPath};

const SOCKET_MODE: u32 = 0o600;
const DIRECTORY_MODE: u32 = 0o700;

/// How many agents may wait to be accepted; the system may allow fewer.
///
/// Limit: further agents wait to connect.
const ATTACH_QUEUE_LENGTH: u32 = 1024;

/// Why the socket for agents could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{0}; use --socket to choose another path")]
    Socket(#[from] SocketError),
    #[error("{} belongs to another user or is accessible to others: choose another --socket, or chmod 700 it", .0.display())]
    DirectoryNotPrivate(PathBuf),
    #[error("cannot create the directory {}: {source}", path.display())]
    Directory { path: PathBuf, source: io::Error },
}

/// Returns the default path of the socket: below `$XDG_RUNTIME_DIR`, else in a private directory of the
/// user in `/tmp`.
pub fn default_socket() -> PathBuf {
    let directory = match env::var_os("XDG_RUNTIME_DIR").filter(|directory| !directory.is_empty()) {
        Some(directory) => PathBuf::from(directory).join("glasspane"),
        None => {
            let user = rustix::process::getuid().as_raw();
            env::temp_dir().join(format!("glasspane-{user}"))
        }
    };
    directory.join("glasspane.sock")
}

/// A listening socket. Its file is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    file: SocketFile,
}

impl Listener {
    /// Listens at `path`. Creates its directory if needed, which must be inaccessible to others.
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
    // Linux gives the file the mode of the socket. Elsewhere the directory keeps others out.
    let _ = fchmod(&socket, Mode::from_raw_mode(SOCKET_MODE as _));
    socket.bind(path)?;
    socket.listen(ATTACH_QUEUE_LENGTH)
}

fn make_directory(path: &Path) -> Result<(), BindError> {
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let failed = |source| BindError::Directory {
        path: directory.to_owned(),
        source,
    };
    if !directory.exists() {
        DirBuilder::new()
            .recursive(true)
            .mode(DIRECTORY_MODE)
            .create(directory)
            .map_err(failed)?;
    }
    let found = fs::metadata(directory).map_err(failed)?;
    let ours = found.uid() == rustix::process::getuid().as_raw();
    if !ours || found.mode() & 0o077 != 0 {
        return Err(BindError::DirectoryNotPrivate(directory.to_owned()));
    }
    Ok(())
}
