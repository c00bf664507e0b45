//! What the user allowed for a project: `$ZOT_HOME/sandbox.json`, never a file of the project.

use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zot_files::Lock;
use zot_process::sandbox::ConnectRule;
use zot_tools::{Allowance, Allowances};

/// The most projects with allowances.
///
/// Limit: what was allowed for the project that was changed longest ago is forgotten.
const MAX_ALLOWANCE_PROJECTS: usize = 1000;

/// The most entries of one project.
///
/// Limit: one more is refused; `zot sandbox forget` makes room.
const MAX_ALLOWANCES_PER_PROJECT: usize = 500;

/// The largest file of allowances.
///
/// Limit: a larger file counts as damaged; nothing is allowed until it is removed.
const MAX_ALLOWANCES_BYTES: u64 = 8 << 20;

/// Why allowances cannot be read or kept.
#[derive(Debug, thiserror::Error)]
pub enum AllowanceError {
    /// The file cannot be used.
    #[error("cannot use {}: nothing is allowed for projects until it is corrected or removed", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The project has as many as are kept.
    #[error(
        "{MAX_ALLOWANCES_PER_PROJECT} entries are allowed for this project already: zot sandbox forget removes them"
    )]
    Full,
}

/// The allowances of all projects of a user.
#[derive(Debug, Clone)]
pub struct ProjectAllowances {
    path: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    projects: Vec<Project>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Project {
    directory: PathBuf,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    connect: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    read: Vec<PathBuf>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    write: Vec<PathBuf>,
}

impl ProjectAllowances {
    /// Uses `sandbox.json` in zot's own directory `home`.
    pub fn new(home: &Path) -> Self {
        Self {
            path: home.join("sandbox.json"),
        }
    }

    /// Returns what is allowed for the project in `directory`, hosts first.
    pub fn list(&self, directory: &Path) -> Result<Vec<Allowance>, AllowanceError> {
        let directory = identity(directory);
        let record = self.read().map_err(|source| self.failed(source))?;
        let project = record
            .projects
            .into_iter()
            .find(|project| project.directory == directory);
        Ok(project.map(Project::entries).unwrap_or_default())
    }

    /// Allows `allowed` for the project in `directory`, from its next start on.
    pub fn allow(&self, directory: &Path, allowed: &[Allowance]) -> Result<(), AllowanceError> {
        let directory = identity(directory);
        let mut is_full = false;
        self.change(|projects| {
            let position = projects
                .iter()
                .position(|project| project.directory == directory);
            let mut project = match position {
                Some(position) => projects.remove(position),
                None => Project {
                    directory,
                    ..Project::default()
                },
            };
            is_full = !allowed.iter().all(|allowance| project.add(allowance));
            let surplus = (projects.len() + 1).saturating_sub(MAX_ALLOWANCE_PROJECTS);
            projects.drain(..surplus);
            projects.push(project);
        })?;
        match is_full {
            true => Err(AllowanceError::Full),
            false => Ok(()),
        }
    }

    /// Forgets what is allowed for the project in `directory`: the host or path `what`, or everything.
    /// Returns what was forgotten.
    pub fn forget(
        &self,
        directory: &Path,
        what: Option<&str>,
    ) -> Result<Vec<Allowance>, AllowanceError> {
        let directory = identity(directory);
        let mut forgotten = Vec::new();
        self.change(|projects| {
            for project in projects
                .iter_mut()
                .filter(|project| project.directory == directory)
            {
                let (kept, removed) =
                    std::mem::take(project)
                        .entries()
                        .into_iter()
                        .partition(|allowed| {
                            what.is_some_and(|what| !is_named(allowed, what, &directory))
                        });
                forgotten = removed;
                project.directory.clone_from(&directory);
                for allowed in &kept {
                    project.add(allowed);
                }
            }
            projects.retain(|project| project.count() > 0);
        })?;
        Ok(forgotten)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Project>)) -> Result<(), AllowanceError> {
        let changed = || -> io::Result<()> {
            let directory = self.path.parent().unwrap_or(Path::new("."));
            zot_files::create_private_directory(directory)?;
            let _lock = Lock::acquire(&self.path.with_extension("json.lock"))?;
            let mut record = self.read()?;
            change(&mut record.projects);
            let text = serde_json::to_vec_pretty(&record)?;
            zot_files::replace(&self.path, &text, 0o600)
        };
        changed().map_err(|source| self.failed(source))
    }

    fn read(&self) -> io::Result<Record> {
        match zot_files::read_bytes(&self.path, MAX_ALLOWANCES_BYTES)? {
            Some(text) => Ok(serde_json::from_slice(&text)?),
            None => Ok(Record::default()),
        }
    }

    fn failed(&self, source: io::Error) -> AllowanceError {
        AllowanceError::File {
            path: self.path.clone(),
            source,
        }
    }
}

impl Project {
    fn entries(self) -> Vec<Allowance> {
        // A host that this version cannot parse is not allowed.
        let hosts = self.connect.iter().filter_map(|host| host.parse().ok());
        let mut entries: Vec<Allowance> = hosts.map(Allowance::Connect).collect();
        entries.extend(self.read.into_iter().map(Allowance::Read));
        entries.extend(self.write.into_iter().map(Allowance::Write));
        entries
    }

    fn count(&self) -> usize {
        self.connect.len() + self.read.len() + self.write.len()
    }

    /// Adds an entry, unless there are too many; returns whether it is there.
    fn add(&mut self, allowed: &Allowance) -> bool {
        fn insert<T: PartialEq>(list: &mut Vec<T>, entry: T, has_room: bool) -> bool {
            let is_new = !list.contains(&entry);
            if is_new && has_room {
                list.push(entry);
            }
            !is_new || has_room
        }
        let has_room = self.count() < MAX_ALLOWANCES_PER_PROJECT;
        match allowed {
            Allowance::Connect(rule) => insert(&mut self.connect, rule.to_string(), has_room),
            Allowance::Read(path) => insert(&mut self.read, path.clone(), has_room),
            Allowance::Write(path) => insert(&mut self.write, path.clone(), has_room),
        }
    }
}

/// Returns whether a user means `allowance` by `text`.
fn is_named(allowance: &Allowance, text: &str, directory: &Path) -> bool {
    match allowance {
        Allowance::Connect(rule) => {
            rule.to_string() == text || text.parse().is_ok_and(|meant: ConnectRule| meant == *rule)
        }
        Allowance::Read(path) | Allowance::Write(path) => *path == directory.join(text),
    }
}

/// Keeps what is allowed for one project.
#[derive(Debug)]
pub(crate) struct ForProject {
    pub(crate) store: ProjectAllowances,
    pub(crate) directory: PathBuf,
}

impl Allowances for ForProject {
    fn keep(&self, allowed: &[Allowance]) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(self.store.allow(&self.directory, allowed)?)
    }
}

/// Returns the same path for every way to write the path of a directory.
fn identity(directory: &Path) -> PathBuf {
    fs::canonicalize(directory)
        .or_else(|_| std::path::absolute(directory))
        .unwrap_or_else(|_| directory.to_owned())
}

#[cfg(test)]
mod tests;
