//! Which servers exist: `.mcp.json` of the project, `$ZOT_HOME/mcp.json` of the user, and files that were
//! named at the start, in the shape that other clients use (`mcpServers`).
//!
//! A file that somebody else wrote must not run programs, so the servers of a project are part of the
//! result only if the caller says so, or the user has approved exactly this content ([`Approvals`]).
//! Mistakes in a file cost the entry they are in, and are named; they never stop the program.

mod approval;
mod description;
mod document;
pub mod edit;
mod expansion;
mod file;
pub mod import;
mod problem;
mod proposal;
pub mod redaction;
#[cfg(test)]
mod tests;
mod written;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::entry::{EntryOrigin, ServerEntry};
use description::{Adjustment, Description};
use file::ParsedFile;

pub use approval::{ApprovalError, Approvals, Decision};
pub use description::check_server_name;
pub use file::{FileDigest, MAX_MCP_FILE_BYTES};
pub use problem::{ConfigurationError, Consequence, Problem};
pub use proposal::Proposal;
pub use written::written;

/// The project's file.
pub const PROJECT_FILE: &str = ".mcp.json";

/// The user's file, in `$ZOT_HOME`.
pub const USER_FILE: &str = "mcp.json";

/// Where to look for servers.
pub struct Sources<'a> {
    /// `$ZOT_HOME`.
    pub home: &'a Path,
    /// The working directory. The project's file is here, or above within the same git repository.
    pub cwd: &'a Path,
    pub user: UserServers,
    pub project: ProjectServers,
    /// More configuration, from `--mcp-config`. Later ones win over earlier ones, and all over the files
    /// of user and project.
    pub given: &'a [Given],
    /// The environment, for `${VAR}`.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// Whether `$ZOT_HOME/mcp.json` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserServers {
    Read,
    Skip,
}

/// Whether `.mcp.json` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectServers {
    /// Never. The result says that there is one.
    Skip,
    /// If the user has approved this content.
    IfApproved,
    /// In any case: the caller was told to.
    Start,
}

/// Configuration that was named at the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Given {
    File(PathBuf),
    /// The text itself, `{"mcpServers": {…}}`.
    Json(String),
}

impl Given {
    /// Returns what a word of the command line means: JSON if it begins with a brace, else a path, relative
    /// to `cwd`.
    pub fn of_word(word: &str, cwd: &Path) -> Self {
        match word.trim_start().starts_with('{') {
            true => Self::Json(word.to_owned()),
            false => Self::File(cwd.join(word)),
        }
    }
}

/// The servers of all sources, and what was noticed while reading them.
#[derive(Debug, Default)]
pub struct Configuration {
    /// The servers that count, disabled ones included: those of the user first, then the project's, then
    /// given ones, each in the order of their file.
    pub servers: Vec<ConfiguredServer>,
    /// What was left out or is probably a mistake.
    pub problems: Vec<Problem>,
    /// The project's file, if there is one.
    pub project: Option<ProjectFile>,
}

/// A server that counts.
#[derive(Debug, Clone)]
pub struct ConfiguredServer {
    /// With variables expanded.
    pub entry: ServerEntry,
    /// As it is written in the file, with `${VAR}`.
    pub written: ServerEntry,
    /// `None` if it was given as text.
    pub file: Option<PathBuf>,
}

/// A project's `.mcp.json`.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    pub path: PathBuf,
    /// The directory it is in, without links.
    pub directory: PathBuf,
    /// Identifies its content. Approve this one, not what the file holds by then.
    pub digest: FileDigest,
    pub state: ProjectState,
    /// The servers it would start, as they are written.
    pub servers: Vec<ServerEntry>,
    /// The servers of others that it would change, and how, in words.
    pub changes: Vec<(String, String)>,
    /// The servers of the user that it would replace.
    pub replaced: Vec<String>,
}

/// Whether a project's file counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectState {
    /// Its servers are part of the result.
    Included,
    /// The user has not been asked about this content.
    Unanswered,
    /// The user was asked about this content, and refused.
    Refused,
    /// The caller wants no project's servers.
    Skipped,
}

impl Configuration {
    /// Reads all sources. Fails only for configuration that was named at the start.
    pub fn load(sources: &Sources<'_>) -> Result<Self, ConfigurationError> {
        let mut merged = Merged::default();
        if sources.user == UserServers::Read {
            let path = sources.home.join(USER_FILE);
            match ParsedFile::read(&path, EntryOrigin::User) {
                Ok(Some(parsed)) => merged.add(sources, parsed),
                Ok(None) => {}
                Err(problem) => merged.problems.push(problem),
            }
        }
        let project = project_file(sources.cwd, sources.home)
            .and_then(|path| merged.add_project(sources, &path));
        for given in sources.given {
            let parsed = match given {
                Given::File(path) => ParsedFile::read_existing(path, EntryOrigin::Program)?,
                Given::Json(text) => ParsedFile::parse_given(text)?,
            };
            if let Some(problem) = parsed.problems.iter().find(|problem| problem.is_left_out()) {
                return Err(ConfigurationError::Given(problem.clone()));
            }
            merged.add(sources, parsed);
        }
        merged.adjust();
        Ok(Self {
            servers: merged.servers,
            problems: merged.problems,
            project,
        })
    }

    /// Returns the servers to run.
    pub fn entries(&self) -> Vec<ServerEntry> {
        let servers = self.servers.iter();
        servers.map(|server| server.entry.clone()).collect()
    }
}

/// Returns the path of the project's file: in `cwd`, or in the nearest directory above that has one, up to
/// the root of the git repository. The user's own file is not a project's.
pub fn project_file(cwd: &Path, home: &Path) -> Option<PathBuf> {
    let root = project_root(cwd);
    let mut files = cwd
        .ancestors()
        .take_while(|directory| directory.starts_with(root))
        .filter(|directory| *directory != home)
        .map(|directory| directory.join(PROJECT_FILE));
    files.find(|path| path.symlink_metadata().is_ok())
}

/// Returns the root of the git repository, or `cwd` outside of one.
fn project_root(cwd: &Path) -> &Path {
    let is_root = |directory: &&Path| directory.join(".git").symlink_metadata().is_ok();
    cwd.ancestors().find(is_root).unwrap_or(cwd)
}

/// Checks that a link in a project does not lead out of it.
fn check_inside(path: &Path, cwd: &Path) -> Result<(), Problem> {
    let root = approval::identity(project_root(cwd));
    match path.canonicalize() {
        Ok(target) if !target.starts_with(root) => {
            let text = "is a link that leads out of the project: put the file itself there";
            Err(Problem::of_file(path, None, text))
        }
        // What cannot be resolved cannot be read either.
        _ => Ok(()),
    }
}

#[derive(Default)]
struct Merged {
    servers: Vec<ConfiguredServer>,
    problems: Vec<Problem>,
    /// The user's changes to servers that are described elsewhere.
    of_user: BTreeMap<String, Adjustment>,
    /// The project's.
    of_project: BTreeMap<String, Adjustment>,
}

impl Merged {
    fn add_project(&mut self, sources: &Sources<'_>, path: &Path) -> Option<ProjectFile> {
        let read = check_inside(path, sources.cwd)
            .and_then(|()| ParsedFile::read(path, EntryOrigin::Project));
        let parsed = match read {
            Ok(parsed) => parsed?,
            Err(problem) => {
                self.problems.push(problem);
                return None;
            }
        };
        if parsed.descriptions.is_empty() {
            self.problems.extend(parsed.problems);
            return None;
        }
        let directory = approval::identity(path.parent().unwrap_or(sources.cwd));
        let decision = || Approvals::new(sources.home).decision(&directory, &parsed.digest);
        let state = match sources.project {
            ProjectServers::Skip => ProjectState::Skipped,
            ProjectServers::Start => ProjectState::Included,
            ProjectServers::IfApproved => match decision() {
                Some(Decision::Approved) => ProjectState::Included,
                Some(Decision::Refused) => ProjectState::Refused,
                None => ProjectState::Unanswered,
            },
        };
        let file = ProjectFile {
            path: path.to_owned(),
            directory,
            digest: parsed.digest.clone(),
            state,
            servers: parsed.servers().cloned().collect(),
            changes: parsed.changes(),
            replaced: self.replaced_by(&parsed),
        };
        if state == ProjectState::Included {
            self.add(sources, parsed);
        }
        Some(file)
    }

    /// Returns the servers that are there already and that a file describes, too.
    fn replaced_by(&self, parsed: &ParsedFile) -> Vec<String> {
        let is_known = |name: &&String| self.servers.iter().any(|one| one.entry.name == **name);
        let names = parsed.servers().map(|server| &server.name);
        names.filter(is_known).cloned().collect()
    }

    /// Adds the servers of a file, which win over those that are there already.
    fn add(&mut self, sources: &Sources<'_>, parsed: ParsedFile) {
        let ParsedFile {
            path,
            origin,
            descriptions,
            problems,
            ..
        } = parsed;
        self.problems.extend(problems);
        for (name, line, description) in descriptions {
            let written = match description {
                Description::Server(server) => *server,
                Description::Adjustment(adjustment) => {
                    let adjustments = match origin {
                        EntryOrigin::User => &mut self.of_user,
                        EntryOrigin::Project | EntryOrigin::Program => &mut self.of_project,
                    };
                    adjustments.insert(name, adjustment);
                    continue;
                }
            };
            let place = problem::Place {
                file: path.clone(),
                line,
                server: name.clone(),
            };
            let mut entry = written.clone();
            expansion::expand(&mut entry, sources, path.as_deref(), |text| {
                self.problems.push(place.warning(text));
            });
            if let Err(text) = description::check_expanded(&entry) {
                self.problems.push(place.left_out(text));
                continue;
            }
            self.servers.retain(|server| server.entry.name != name);
            self.servers.push(ConfiguredServer {
                entry,
                written,
                file: path.clone(),
            });
        }
    }

    /// Applies entries without an address to the servers of that name: the project's first, so that the
    /// user has the last word.
    fn adjust(&mut self) {
        for server in &mut self.servers {
            for (adjustments, origin) in [
                (&self.of_project, EntryOrigin::Project),
                (&self.of_user, EntryOrigin::User),
            ] {
                if let Some(adjustment) = adjustments.get(&server.entry.name) {
                    adjustment.apply(&mut server.entry, &origin);
                    adjustment.apply(&mut server.written, &origin);
                }
            }
        }
    }
}
