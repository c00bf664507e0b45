//! `zino certs`: a small private authority, so that machines can trust each other.

mod issue;
mod show;
#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::network::identity::IdentityError;

pub use issue::{IssueRequest, init, issue};
pub use show::{Inspection, inspect};
pub(crate) use show::{inspect_one, is_issued_by};

/// The names of the authority's files in its directory.
const AUTHORITY: &str = "ca";

/// The file that never leaves its machine.
pub const KEY_OF_AUTHORITY: &str = "ca.key";

const DIRECTORY_MODE: u32 = 0o700;
const KEY_MODE: u32 = 0o600;
const CERTIFICATE_MODE: u32 = 0o644;

/// Why no certificate was made.
#[derive(Debug, thiserror::Error)]
pub enum CertsError {
    #[error(
        "{} exists already, and certificates are never overwritten: move it and its .key away first",
        .0.display()
    )]
    Exists(PathBuf),
    #[error(
        "{} exists already: a new authority would make every certificate of the old one useless; \
         name another directory", .0.display()
    )]
    AuthorityExists(PathBuf),
    #[error("no authority in {}: make one with `zino certs init {}`", .0.display(), .0.display())]
    NoAuthority(PathBuf),
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Read(#[from] IdentityError),
    #[error("{0:?} cannot be a name: use lower-case letters, digits and hyphens")]
    BadName(String),
    #[error("{0:?} cannot be a host: give a name such as db.example.com, or an address")]
    BadHost(String),
    #[error("\"ca\" is the name of the authority's own files")]
    ReservedName,
    #[error("a certificate must be valid for 1 to 36500 days, not {0}")]
    BadDays(u32),
    #[error("the authority in {} expired on {date}: make a new one in another directory", .path.display())]
    AuthorityExpired { path: PathBuf, date: String },
    #[error("cannot make the certificate: {0}")]
    Make(#[from] rcgen::Error),
}

/// A certificate and its key, as they were written.
#[derive(Debug, PartialEq, Eq)]
pub struct WrittenPair {
    pub certificate: PathBuf,
    pub key: PathBuf,
    /// The names in the certificate; none for an authority.
    pub names: Vec<String>,
    /// The last day it is valid.
    pub expires: String,
}

/// Writes a certificate and its key, neither of which may exist.
fn write_pair(
    directory: &Path,
    name: &str,
    certificate: &str,
    key: &str,
) -> Result<(PathBuf, PathBuf), CertsError> {
    let certificate_path = directory.join(format!("{name}.pem"));
    let key_path = directory.join(format!("{name}.key"));
    for path in [&certificate_path, &key_path] {
        if path.symlink_metadata().is_ok() {
            return Err(CertsError::Exists(path.clone()));
        }
    }
    write_new(&key_path, key, KEY_MODE)?;
    write_new(&certificate_path, certificate, CERTIFICATE_MODE)?;
    Ok((certificate_path, key_path))
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), CertsError> {
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        });
    written.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => CertsError::Exists(path.to_owned()),
        _ => CertsError::Write {
            path: path.to_owned(),
            source,
        },
    })
}

fn make_directory(directory: &Path) -> Result<(), CertsError> {
    if directory.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
        .map_err(|source| CertsError::Write {
            path: directory.to_owned(),
            source,
        })
}
