//! Records which extensions intercepted when they last ran.
//!
//! Such an extension stops prompts when it cannot be started, even if its manifest has become
//! unreadable. Each has a file in `$ZOT_HOME/interceptors`, so that processes do not interfere with
//! each other, and files are replaced atomically. Confined extensions cannot write there
//! (`launch/grants.rs`).

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::manifest::fingerprint;

/// The name of the directory in `$ZOT_HOME`.
pub(crate) const RECORD_DIRECTORY: &str = "interceptors";

/// A record is two short strings.
///
/// Limit: the record in `interceptors` is ignored.
const MAX_INTERCEPTOR_RECORD_BYTES: u64 = 64 * 1024;

/// The extensions that intercepted in their last run, below one `$ZOT_HOME`.
#[derive(Debug, Clone)]
pub struct InterceptRecord {
    records: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    name: String,
    directory: PathBuf,
}

impl InterceptRecord {
    pub fn new(home: &Path) -> Self {
        Self {
            records: home.join(RECORD_DIRECTORY),
        }
    }

    /// Returns whether the extension in `directory` intercepted in its last run.
    pub fn contains(&self, directory: &Path) -> bool {
        self.file(directory).exists()
    }

    /// Returns the directories of all such extensions, without links.
    pub fn directories(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(&self.records).into_iter().flatten().flatten();
        let entries = files.filter_map(|file| {
            let text =
                zot_files::read_limited(&file.path(), MAX_INTERCEPTOR_RECORD_BYTES).ok()??;
            serde_json::from_str::<Entry>(&text).ok()
        });
        entries.map(|entry| entry.directory).collect()
    }

    /// Returns whether an extension at or below `path` intercepted in its last run.
    pub fn covers(&self, path: &Path) -> bool {
        let path = identity(path);
        let directories = self.directories();
        directories.iter().any(|known| known.starts_with(&path))
    }

    pub fn remember(&self, name: &str, directory: &Path) -> io::Result<()> {
        let file = self.file(directory);
        if file.exists() {
            return Ok(());
        }
        let entry = Entry {
            name: name.to_owned(),
            directory: identity(directory),
        };
        zot_files::create_private_directory(&self.records)?;
        zot_files::replace(&file, &serde_json::to_vec(&entry)?, 0o600)
    }

    /// Removes the record of the extension in `directory`: it no longer intercepts, or was disabled or
    /// removed.
    pub fn forget(&self, directory: &Path) -> io::Result<()> {
        match fs::remove_file(self.file(directory)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn file(&self, directory: &Path) -> PathBuf {
        let name = fingerprint(&identity(directory));
        self.records.join(format!("{name}.json"))
    }
}

/// Returns the same path for every way to write the path of a directory.
fn identity(directory: &Path) -> PathBuf {
    fs::canonicalize(directory)
        .or_else(|_| std::path::absolute(directory))
        .unwrap_or_else(|_| directory.to_owned())
}
