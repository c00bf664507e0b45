//! `zino bus init`: a configuration for the NATS server, and a key for each kind of process.

mod permissions;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use nkeys::KeyPair;

use crate::config::network::is_label;

use permissions::{Permissions, permissions};
pub use permissions::{Process, Role};

/// The file of the server in its directory.
const SERVER_FILE: &str = "nats-server.conf";

/// The directory of the keys, beside that file.
const KEYS_DIRECTORY: &str = "keys";

const DIRECTORY_MODE: u32 = 0o700;
const KEY_MODE: u32 = 0o600;
const SERVER_FILE_MODE: u32 = 0o644;

/// The longest file of a key.
///
/// Limit: a longer file is refused as a key of the bus.
const MAX_BUS_KEY_BYTES: u64 = 4096;

/// What to write.
#[derive(Debug)]
pub struct InitRequest {
    pub processes: Vec<Process>,
    pub namespace: String,
    /// Where the server listens; anywhere but on loopback it needs a certificate.
    pub listen: SocketAddr,
}

/// The files of a bus.
#[derive(Debug, PartialEq, Eq)]
pub struct BusFiles {
    pub server: PathBuf,
    /// A key for each process, in order.
    pub keys: Vec<PathBuf>,
    /// Whether the server needs `nats.pem` and `nats.key`.
    pub needs_certificate: bool,
}

/// Why the files were not written.
#[derive(Debug, thiserror::Error)]
pub enum BusFilesError {
    #[error(
        "{} exists already: move it away to write it anew; keys that exist are kept", .0.display()
    )]
    Exists(PathBuf),
    #[error("{0:?} cannot be a name: use lower-case letters, digits and hyphens")]
    BadName(String),
    #[error("two processes are called {0:?}")]
    TwoOfOneName(String),
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} does not hold the seed of an nkey: {error}", .path.display())]
    BadKey {
        path: PathBuf,
        error: nkeys::error::Error,
    },
    #[error("cannot make a key: {0}")]
    Make(#[from] nkeys::error::Error),
}

/// Writes the configuration of a server and the keys of those who connect to it.
pub fn init(directory: &Path, request: &InitRequest) -> Result<BusFiles, BusFilesError> {
    check_names(request)?;
    let server = directory.join(SERVER_FILE);
    if server.symlink_metadata().is_ok() {
        return Err(BusFilesError::Exists(server));
    }
    let keys_directory = directory.join(KEYS_DIRECTORY);
    make_directory(&keys_directory)?;
    let mut users = Vec::new();
    let mut keys = Vec::new();
    for process in &request.processes {
        let path = keys_directory.join(format!("{}.nk", process.name));
        users.push((process, key(&path)?.public_key()));
        keys.push(path);
    }
    let needs_certificate = !request.listen.ip().is_loopback();
    let text = server_file(request, &users, needs_certificate);
    write_new(&server, &text, SERVER_FILE_MODE)?;
    Ok(BusFiles {
        server,
        keys,
        needs_certificate,
    })
}

fn check_names(request: &InitRequest) -> Result<(), BusFilesError> {
    let mut names: Vec<&str> = Vec::new();
    let given = request
        .processes
        .iter()
        .map(|process| process.name.as_str());
    for name in given {
        if !is_label(name) {
            return Err(BusFilesError::BadName(name.to_owned()));
        }
        if names.contains(&name) {
            return Err(BusFilesError::TwoOfOneName(name.to_owned()));
        }
        names.push(name);
    }
    match is_label(&request.namespace) {
        true => Ok(()),
        false => Err(BusFilesError::BadName(request.namespace.clone())),
    }
}

/// The key in a file, which is made if it does not exist.
fn key(path: &Path) -> Result<KeyPair, BusFilesError> {
    match zot_files::read_existing_text(path, MAX_BUS_KEY_BYTES) {
        Ok(seed) => KeyPair::from_seed(seed.trim()).map_err(|error| BusFilesError::BadKey {
            path: path.to_owned(),
            error,
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = KeyPair::new_user();
            write_new(path, &format!("{}\n", key.seed()?), KEY_MODE)?;
            Ok(key)
        }
        Err(source) => Err(BusFilesError::Read {
            path: path.to_owned(),
            source,
        }),
    }
}

fn server_file(
    request: &InitRequest,
    users: &[(&Process, String)],
    needs_certificate: bool,
) -> String {
    let mut text = format!(
        "# Written by `zino bus init`. In this directory: nats-server -c {SERVER_FILE}\n\
         listen: \"{}\"\n\
         max_payload: 1MB\n\
         # A machine that has vanished is noticed within half a minute; zino itself notices sooner.\n\
         ping_interval: \"10s\"\n\
         ping_max: 2\n\
         write_deadline: \"5s\"\n",
        request.listen
    );
    if needs_certificate {
        text.push_str(
            "tls {\n  cert_file: \"./nats.pem\"\n  key_file: \"./nats.key\"\n  timeout: 2\n}\n",
        );
    }
    text.push_str("authorization {\n  users: [\n");
    for (process, public_key) in users {
        let Permissions { publish, subscribe } =
            permissions(process, &request.processes, &request.namespace);
        let _ = write!(
            text,
            "    # {}\n    {{ nkey: {public_key}, permissions: {{\n      publish: {}\n      \
             subscribe: {} }} }}\n",
            process.name,
            list(&publish),
            list(&subscribe),
        );
    }
    text.push_str("  ]\n}\n");
    text
}

fn list(subjects: &[String]) -> String {
    match subjects {
        // An empty list would allow everything.
        [] => "{ deny: \">\" }".to_owned(),
        subjects => format!("[\"{}\"]", subjects.join("\", \"")),
    }
}

fn make_directory(directory: &Path) -> Result<(), BusFilesError> {
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
        .map_err(|source| BusFilesError::Write {
            path: directory.to_owned(),
            source,
        })
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), BusFilesError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .map_err(|source| BusFilesError::Write {
            path: path.to_owned(),
            source,
        })
}
