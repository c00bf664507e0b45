//! Changes to configuration files. What is not understood stays, with its order and formatting.

#[cfg(test)]
mod tests;
mod text;

use std::io;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use zot_files::Lock;

use super::description;
use super::document::Object;
use super::file::{FileDigest, MAX_MCP_FILE_BYTES, SERVERS, servers_of};
use super::problem::Problem;
use super::{PROJECT_FILE, USER_FILE, project_file};
use crate::entry::EntryOrigin;

/// The user's file may hold secrets.
const USER_MODE: u32 = 0o600;
/// A project's file is shared.
const PROJECT_MODE: u32 = 0o644;

/// One of the two files that commands change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    User,
    Project,
}

impl Scope {
    /// Returns the path of the file, which need not exist. A new file of a project is made in `cwd`.
    pub fn path(self, home: &Path, cwd: &Path) -> PathBuf {
        match self {
            Self::User => home.join(USER_FILE),
            Self::Project => project_file(cwd, home).unwrap_or_else(|| cwd.join(PROJECT_FILE)),
        }
    }

    /// Returns the word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }

    fn origin(self) -> EntryOrigin {
        match self {
            Self::User => EntryOrigin::User,
            Self::Project => EntryOrigin::Project,
        }
    }
}

/// What happens to an entry that exists already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    Refuse,
    Replace,
}

/// Why a file was not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error("{0}")]
    Name(String),
    #[error("MCP server {name:?}: {problem}")]
    Entry { name: String, problem: String },
    #[error(
        "expected the JSON of one server, such as {{\"command\": \"npx\", \"args\": [\"-y\", \"server\"]}}: {problem}"
    )]
    Json { problem: String },
    #[error("MCP server {name:?} exists already in {}: remove it first, or replace it with --force", .path.display())]
    Exists { name: String, path: PathBuf },
    #[error("no MCP server {name:?} in {}", .path.display())]
    Missing { name: String, path: PathBuf },
    /// The file as it is cannot be changed without losing something.
    #[error("{0}: correct the file first")]
    Unusable(Problem),
    #[error("cannot change {}", .path.display())]
    Unwritable {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

/// A file that was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    pub path: PathBuf,
    /// What the file held before; `None` if there was none.
    pub before: Option<FileDigest>,
    pub after: FileDigest,
    /// Probable mistakes in the new entry.
    pub warnings: Vec<String>,
}

/// The file to change.
#[derive(Debug, Clone, Copy)]
pub struct Editor<'a> {
    pub path: &'a Path,
    pub scope: Scope,
}

impl Editor<'_> {
    /// Adds the server `name`, described by the JSON text `entry`, whose order is kept.
    pub fn add(
        &self,
        name: &str,
        entry: &str,
        on_conflict: OnConflict,
    ) -> Result<Edited, EditError> {
        description::check_server_name(name).map_err(EditError::Name)?;
        let value: Box<RawValue> =
            serde_json::from_str(entry).map_err(|error| EditError::Json {
                problem: error.to_string(),
            })?;
        let directory = self.path.parent();
        let described = description::describe(name, &value, &self.scope.origin(), directory);
        if let Err(problem) = described.outcome {
            let name = name.to_owned();
            return Err(EditError::Entry { name, problem });
        }
        self.change(described.warnings, |text| {
            if on_conflict == OnConflict::Refuse && self.has(text, name)? {
                let (name, path) = (name.to_owned(), self.path.to_owned());
                return Err(EditError::Exists { name, path });
            }
            self.with(text, &[SERVERS, name], Some(value.get()))
        })
    }

    /// Returns whether the file has an entry of that name.
    pub fn contains(&self, name: &str) -> Result<bool, EditError> {
        let text = zot_files::read_limited(self.path, MAX_MCP_FILE_BYTES);
        let text = text.map_err(|source| EditError::Unwritable {
            path: self.path.to_owned(),
            source,
        })?;
        self.has(&text.unwrap_or_default(), name)
    }

    pub fn remove(&self, name: &str) -> Result<Edited, EditError> {
        self.change(Vec::new(), |text| {
            if !self.has(text, name)? {
                let (name, path) = (name.to_owned(), self.path.to_owned());
                return Err(EditError::Missing { name, path });
            }
            self.with(text, &[SERVERS, name], None)
        })
    }

    /// Sets `enabled` of the server `name`; an entry that holds nothing else is made, or removed, if the
    /// server is described elsewhere.
    pub fn switch(&self, name: &str, enabled: Option<bool>) -> Result<Edited, EditError> {
        self.change(Vec::new(), |text| {
            // The word of other clients for the same.
            let text = self.with(text, &[SERVERS, name, "disabled"], None)?;
            let value = enabled.map(|enabled| enabled.to_string());
            let text = self.with(&text, &[SERVERS, name, "enabled"], value.as_deref())?;
            let is_empty = servers_of(Some(self.path), &text)
                .ok()
                .flatten()
                .and_then(|servers| servers.get(name))
                .is_some_and(|entry| {
                    Object::parse(entry.get()).is_ok_and(|entry| entry.entries.is_empty())
                });
            match is_empty {
                true => self.with(&text, &[SERVERS, name], None),
                false => Ok(text),
            }
        })
    }

    fn has(&self, text: &str, name: &str) -> Result<bool, EditError> {
        let servers = servers_of(Some(self.path), text).map_err(EditError::Unusable)?;
        Ok(servers.is_some_and(|servers| servers.get(name).is_some()))
    }

    fn with(&self, text: &str, path: &[&str], value: Option<&str>) -> Result<String, EditError> {
        text::with(text, path, value).map_err(|problem| {
            let line = Some(problem.line).filter(|line| *line > 0);
            EditError::Unusable(Problem::of_file(self.path, line, problem.text))
        })
    }

    fn change(
        &self,
        warnings: Vec<String>,
        change: impl FnOnce(&str) -> Result<String, EditError>,
    ) -> Result<Edited, EditError> {
        let unwritable = |source| EditError::Unwritable {
            path: self.path.to_owned(),
            source,
        };
        let directory = self.path.parent().unwrap_or(Path::new("."));
        let _lock = match self.scope {
            Scope::User => {
                zot_files::create_private_directory(directory).map_err(unwritable)?;
                Lock::acquire(&self.path.with_extension("json.lock")).map(Some)
            }
            // A lock file would end up in a repository.
            Scope::Project => Lock::acquire_directory(directory),
        }
        .map_err(|error| unwritable(error.into()))?;
        let old = zot_files::read_limited(self.path, MAX_MCP_FILE_BYTES).map_err(unwritable)?;
        let new = change(old.as_deref().unwrap_or_default())?;
        let mode = match self.scope {
            Scope::User => USER_MODE,
            Scope::Project => PROJECT_MODE,
        };
        if old.as_deref() != Some(new.as_str()) {
            zot_files::replace(self.path, new.as_bytes(), mode).map_err(unwritable)?;
        }
        Ok(Edited {
            path: self.path.to_owned(),
            before: old.map(|text| FileDigest::of(text.as_bytes())),
            after: FileDigest::of(new.as_bytes()),
            warnings,
        })
    }
}
