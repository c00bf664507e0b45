//! A socket that only its owner can use, in a folder that only its owner can enter.

use std::env;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{
    DirBuilderExt as _, FileTypeExt as _, MetadataExt as _, PermissionsExt as _,
};
use std::os::unix::net::UnixStream as BlockingStream;
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

const SOCKET_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

/// Why there is no socket for agents.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error("{} is in use: another glasspane listens there; stop it or choose another --socket", .0.display())]
    Live(PathBuf),
    #[error("{} is there and is no socket: it is not touched", .0.display())]
    NotASocket(PathBuf),
    #[error("{} belongs to someone else or lets others in: choose another --socket, or chmod 700 it", .0.display())]
    FolderNotPrivate(PathBuf),
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot listen on {}: {source}", path.display())]
    Listen { path: PathBuf, source: io::Error },
}

/// Where agents attach unless told otherwise: below `$XDG_RUNTIME_DIR`, else a folder of the user's own in `/tmp`.
pub fn default_socket() -> PathBuf {
    let folder = match env::var_os("XDG_RUNTIME_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder).join("glasspane"),
        None => {
            let user = rustix::process::getuid().as_raw();
            env::temp_dir().join(format!("glasspane-{user}"))
        }
    };
    folder.join("glasspane.sock")
}

/// A listening socket. Its file is removed when it is dropped.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    path: PathBuf,
    /// Tells our file from one that was put in its place.
    inode: Option<u64>,
}

impl Listener {
    /// Listens at `path`, whose folder is made if it is not there and must let nobody else in.
    pub fn bind(path: &Path) -> Result<Self, BindError> {
        make_folder(path)?;
        remove_stale(path)?;
        let failed = |source| BindError::Listen {
            path: path.to_owned(),
            source,
        };
        let listener = UnixListener::bind(path).map_err(failed)?;
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

impl Drop for Listener {
    fn drop(&mut self) {
        // Another process may have taken over meanwhile.
        if self.inode.is_some() && inode(&self.path) == self.inode {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn inode(path: &Path) -> Option<u64> {
    fs::symlink_metadata(path).ok().map(|found| found.ino())
}

fn make_folder(path: &Path) -> Result<(), BindError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let failed = |source| BindError::Folder {
        path: folder.to_owned(),
        source,
    };
    if !folder.exists() {
        DirBuilder::new()
            .recursive(true)
            .mode(FOLDER_MODE)
            .create(folder)
            .map_err(failed)?;
    }
    let found = fs::metadata(folder).map_err(failed)?;
    let ours = found.uid() == rustix::process::getuid().as_raw();
    // Between bind and chmod the socket has the mode of our mask: only the folder keeps others out.
    if !ours || found.mode() & 0o077 != 0 {
        return Err(BindError::FolderNotPrivate(folder.to_owned()));
    }
    Ok(())
}

/// Removes the socket of a process that is gone. A live one is left alone.
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
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
    .map_err(|source| BindError::Listen {
        path: path.to_owned(),
        source,
    })
}
