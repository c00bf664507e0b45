//! Servers that people have configured for other clients, as entries of ours.
//!
//! Nothing is run and nothing is written here. What a client keeps for all projects is meant for the user's
//! file, what it keeps in a project for the project's.

mod claude;
mod codex;
mod fields;
mod goose;
mod jsonc;
mod opencode;
#[cfg(test)]
mod tests;
mod vscode;
mod yaml;

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::edit::Scope;
use crate::entry::{Address, EntryOrigin, ServerEntry};

/// The largest file of another client: some keep their history in it.
///
/// Limit: a larger file is not imported from, with a message.
const MAX_IMPORTED_FILE_BYTES: u64 = 64 << 20;

/// A client with servers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Claude,
    Codex,
    Opencode,
    Goose,
    Vscode,
}

impl Client {
    pub const ALL: [Self; 5] = [
        Self::Claude,
        Self::Codex,
        Self::Opencode,
        Self::Goose,
        Self::Vscode,
    ];

    /// Returns the word for it on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Goose => "goose",
            Self::Vscode => "vscode",
        }
    }
}

/// Where the files of other clients are looked for.
pub struct ImportPlaces<'a> {
    /// The user's home directory.
    pub home: &'a Path,
    pub cwd: &'a Path,
    /// The environment: some clients let it move their files.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

/// What another client has.
#[derive(Debug, Default)]
pub struct ClientServers {
    /// The files that were looked for and found.
    pub files: Vec<PathBuf>,
    pub found: Vec<FoundServer>,
    pub left_out: Vec<LeftOutServer>,
    /// Files that cannot be read, with the reason.
    pub unreadable: Vec<(PathBuf, String)>,
}

/// A server that can be imported.
#[derive(Debug, Clone)]
pub struct FoundServer {
    /// With variables as our files have them.
    pub entry: ServerEntry,
    /// The file of ours that it belongs into.
    pub scope: Scope,
    pub file: PathBuf,
    /// What the user should know or do.
    pub notes: Vec<String>,
}

/// A server that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOutServer {
    pub name: String,
    pub file: PathBuf,
    pub reason: String,
}

/// Returns the servers that `client` has for the user, and for the project in the working directory.
pub fn servers_of_client(client: Client, places: &ImportPlaces<'_>) -> ClientServers {
    let mut servers = ClientServers::default();
    match client {
        Client::Claude => claude::collect(places, &mut servers),
        Client::Codex => codex::collect(places, &mut servers),
        Client::Opencode => opencode::collect(places, &mut servers),
        Client::Goose => goose::collect(places, &mut servers),
        Client::Vscode => vscode::collect(places, &mut servers),
    }
    servers
}

impl ImportPlaces<'_> {
    /// Returns the directory for settings of programs.
    fn settings(&self) -> PathBuf {
        match (self.env)("XDG_CONFIG_HOME").filter(|path| path.starts_with('/')) {
            Some(path) => PathBuf::from(path),
            None => self.home.join(".config"),
        }
    }

    /// Returns the directory for settings of programs with windows.
    fn application_settings(&self) -> PathBuf {
        match cfg!(target_os = "macos") {
            true => self.home.join("Library/Application Support"),
            false => self.settings(),
        }
    }
}

/// A server as a client describes it, on its way into an entry.
struct Draft {
    entry: ServerEntry,
    notes: Vec<String>,
}

impl Draft {
    fn new(name: &str, address: Address) -> Self {
        let mut notes = Vec::new();
        let valid = valid_name(name);
        if valid != name {
            notes.push(format!("was called {name:?}"));
        }
        Self {
            entry: ServerEntry {
                name: valid,
                address,
                timeout: None,
                enabled: true,
                exposure: None,
                tool_exposure: Vec::new(),
                protocol: None,
                sandbox: None,
                permissions: None,
                oauth: None,
                origin: EntryOrigin::User,
                project: None,
            },
            notes,
        }
    }
}

/// How the text of a file becomes a value.
type Parse = fn(&str) -> Result<Value, String>;

impl ClientServers {
    /// Reads a file, if it exists.
    fn read(&mut self, path: PathBuf, parse: Parse) -> Option<(PathBuf, Value)> {
        let text = match zot_files::read_limited(&path, MAX_IMPORTED_FILE_BYTES) {
            Ok(text) => text?,
            Err(error) => {
                self.unreadable.push((path, error.to_string()));
                return None;
            }
        };
        match parse(&text) {
            Ok(value) => {
                self.files.push(path.clone());
                Some((path, value))
            }
            Err(problem) => {
                self.unreadable.push((path, problem));
                None
            }
        }
    }

    /// Adds the servers of an object with one for each name.
    fn add_all(
        &mut self,
        servers: &Value,
        scope: Scope,
        file: &Path,
        convert: impl Fn(&str, &Value) -> Result<Draft, String>,
    ) {
        for (name, value) in servers.as_object().into_iter().flatten() {
            match convert(name, value) {
                Ok(draft) => self.found.push(FoundServer {
                    entry: draft.entry,
                    scope,
                    file: file.to_owned(),
                    notes: draft.notes,
                }),
                Err(reason) => self.left_out.push(LeftOutServer {
                    name: name.clone(),
                    file: file.to_owned(),
                    reason,
                }),
            }
        }
    }
}

fn parse_json(text: &str) -> Result<Value, String> {
    jsonc::parse(text)
}

/// Returns a name that is valid here.
fn valid_name(name: &str) -> String {
    let letters = name.chars().map(|letter| match letter {
        letter if letter.is_alphanumeric() || "-_.".contains(letter) => letter,
        _ => '-',
    });
    let valid: String = letters.collect();
    let valid = valid.trim_start_matches(|letter: char| !letter.is_alphanumeric());
    let mut end = valid.len().min(64);
    while !valid.is_char_boundary(end) {
        end -= 1;
    }
    match valid.get(..end) {
        Some("") | None => "server".to_owned(),
        Some(valid) => valid.to_owned(),
    }
}
