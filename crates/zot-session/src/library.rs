//! All sessions of a user: lists and finds them.

mod index;
mod summary;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

pub use summary::Summary;

use crate::id::{EXTENSION, SHORT_ID, directory_name};
use crate::{SessionError, lock};

/// How many candidates the error for an ambiguous id names.
const MAX_CANDIDATE_SESSIONS: usize = 5;

/// The directory `$ZOT_HOME/sessions`.
#[derive(Debug, Clone)]
pub struct Library {
    root: PathBuf,
}

/// Which sessions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// The sessions of one working directory.
    Directory(&'a str),
    All,
}

/// An id that names no session, or more than one.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    #[error("no session {wanted:?}; `zot sessions list --all` lists all sessions")]
    NotFound { wanted: String },
    #[error("{wanted:?} could be any of {}; give more of its id", .candidates.join(", "))]
    Ambiguous {
        wanted: String,
        candidates: Vec<String>,
    },
    #[error("cannot use {} as a session: {source}", .path.display())]
    NotAFile { path: PathBuf, source: io::Error },
    #[error("cannot look through {}: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// A session file and its metadata.
pub(crate) struct Found {
    pub(crate) path: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) modified: SystemTime,
}

impl Library {
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the sessions, most recently changed first.
    ///
    /// The index only saves reading: a file that changed since it was indexed is read again.
    pub fn list(&self, scope: Scope<'_>) -> io::Result<Vec<Summary>> {
        let files = self.files(scope)?;
        let mut summaries = index::summaries(&self.root, files, scope)?;
        summaries.sort_unstable_by(|one, other| {
            let later = other.modified.cmp(&one.modified);
            later.then_with(|| other.path.cmp(&one.path))
        });
        Ok(summaries)
    }

    /// Returns the most recently changed session of a working directory.
    pub fn newest(&self, cwd: &str) -> io::Result<Option<PathBuf>> {
        let files = self.files(Scope::Directory(cwd))?;
        let newest = files.into_iter().filter(|file| file.bytes > 0);
        let newest = newest
            .max_by(|one, other| (one.modified, &one.path).cmp(&(other.modified, &other.path)));
        Ok(newest.map(|file| file.path))
    }

    /// Finds a session by its id, the beginning of its id, or its path.
    pub fn find(&self, wanted: &str) -> Result<PathBuf, FindError> {
        if wanted.contains('/') || wanted.ends_with(&format!(".{EXTENSION}")) {
            let path = PathBuf::from(wanted);
            if path.exists() {
                return match zot_files::check_regular(&path) {
                    Ok(()) => Ok(path),
                    Err(source) => Err(FindError::NotAFile { path, source }),
                };
            }
        }
        let not_found = || FindError::NotFound {
            wanted: wanted.to_owned(),
        };
        if wanted.is_empty() {
            return Err(not_found());
        }
        let unreadable = |source| FindError::Unreadable {
            path: self.root.clone(),
            source,
        };
        // File names hold the beginning of the id, so no file has to be opened.
        let start = wanted.get(..SHORT_ID).unwrap_or(wanted);
        let mut found: Vec<PathBuf> = self
            .files(Scope::All)
            .map_err(unreadable)?
            .into_iter()
            .map(|file| file.path)
            .filter(|path| short_id(path).is_some_and(|id| id.starts_with(start)))
            .collect();
        // Files that were copied here by hand may have any name.
        if found.is_empty() || wanted.len() > SHORT_ID {
            let summaries = self.list(Scope::All).map_err(unreadable)?;
            found = summaries
                .into_iter()
                .filter(|summary| summary.id.starts_with(wanted))
                .map(|summary| summary.path)
                .collect();
        }
        match found.as_slice() {
            [] => Err(not_found()),
            [path] => Ok(path.clone()),
            several => Err(FindError::Ambiguous {
                wanted: wanted.to_owned(),
                candidates: several
                    .iter()
                    .take(MAX_CANDIDATE_SESSIONS)
                    .map(|path| short_id(path).unwrap_or_default().to_owned())
                    .collect(),
            }),
        }
    }

    /// Deletes a session with everything stored next to it, unless a process has it open.
    pub fn delete(&self, path: &Path) -> Result<(), SessionError> {
        let file = zot_files::open_existing(path).map_err(SessionError::open(path))?;
        lock::take(&file, path)?;
        fs::remove_file(path).map_err(SessionError::write(path))?;
        let beside = crate::checkpoint::directory_of(path);
        match fs::remove_dir_all(&beside) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(SessionError::write(&beside)(error)),
        }
        if let Some(directory) = path.parent().filter(|directory| *directory != self.root) {
            // Only removes empty directories.
            let _ = fs::remove_dir(directory);
        }
        Ok(())
    }

    fn files(&self, scope: Scope<'_>) -> io::Result<Vec<Found>> {
        let mut files = Vec::new();
        match scope {
            Scope::Directory(cwd) => collect(&self.root.join(directory_name(cwd)), &mut files)?,
            Scope::All => {
                for entry in entries(&self.root)? {
                    let entry = entry?;
                    if entry.file_type()?.is_dir() {
                        collect(&entry.path(), &mut files)?;
                    }
                }
            }
        }
        Ok(files)
    }
}

/// Collects the session files of one directory.
fn collect(directory: &Path, files: &mut Vec<Found>) -> io::Result<()> {
    for entry in entries(directory)? {
        let entry = entry?;
        let path = entry.path();
        if path
            .extension()
            .is_none_or(|extension| extension != EXTENSION)
        {
            continue;
        }
        // It may have been deleted meanwhile.
        let Ok(metadata) = entry.metadata() else {
            continue;
        };
        if metadata.is_file() {
            files.push(Found {
                path,
                bytes: metadata.len(),
                modified: metadata.modified()?,
            });
        }
    }
    Ok(())
}

/// Returns the entries of a directory: none if it does not exist.
fn entries(directory: &Path) -> io::Result<impl Iterator<Item = io::Result<fs::DirEntry>>> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => Some(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(entries.into_iter().flatten())
}

/// Returns the part of a file's name that is the beginning of the session's id.
fn short_id(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    stem.rsplit('-').next().filter(|id| id.len() == SHORT_ID)
}
