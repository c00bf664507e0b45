//! One configuration file.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::description::{self, Description};
use super::document::{self, Object};
use super::problem::{ConfigurationError, Place, Problem};
use crate::entry::{EntryOrigin, ServerEntry};

/// The largest configuration file. The user's file of another client, which is imported, may be larger.
///
/// Limit: the servers of a larger file are left out, with a message.
pub const MAX_MCP_FILE_BYTES: u64 = 1 << 20;

/// The most servers that one file may describe.
///
/// Limit: further servers are left out, with a message.
const MAX_SERVERS_IN_FILE: usize = 256;

/// The key that holds the servers.
pub(super) const SERVERS: &str = "mcpServers";

/// Identifies the content of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDigest(String);

impl FileDigest {
    pub fn of(content: &[u8]) -> Self {
        let digest = Sha256::digest(content);
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

impl fmt::Display for FileDigest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// What a file describes.
#[derive(Debug)]
pub(super) struct ParsedFile {
    pub(super) path: Option<PathBuf>,
    pub(super) origin: EntryOrigin,
    /// Of exactly the bytes the rest was made from.
    pub(super) digest: FileDigest,
    /// Name, line and description, in the order of the file.
    pub(super) descriptions: Vec<(String, usize, Description)>,
    pub(super) problems: Vec<Problem>,
}

impl ParsedFile {
    /// Reads a file, if it exists.
    pub(super) fn read(path: &Path, origin: EntryOrigin) -> Result<Option<Self>, Problem> {
        match zot_files::read_limited(path, MAX_MCP_FILE_BYTES) {
            Ok(Some(text)) => Self::parse(Some(path), &text, origin).map(Some),
            Ok(None) => Ok(None),
            Err(error) => Err(Problem::of_file(
                path,
                None,
                format!("cannot be read: {error}"),
            )),
        }
    }

    /// Reads a file that must exist.
    pub(super) fn read_existing(
        path: &Path,
        origin: EntryOrigin,
    ) -> Result<Self, ConfigurationError> {
        let text = zot_files::read_existing_text(path, MAX_MCP_FILE_BYTES).map_err(|source| {
            ConfigurationError::Unreadable {
                path: path.to_owned(),
                source,
            }
        })?;
        Self::parse(Some(path), &text, origin).map_err(ConfigurationError::Given)
    }

    pub(super) fn parse_given(text: &str) -> Result<Self, ConfigurationError> {
        Self::parse(None, text, EntryOrigin::Program).map_err(ConfigurationError::Given)
    }

    /// Returns the servers, without entries that only change others.
    pub(super) fn servers(&self) -> impl Iterator<Item = &ServerEntry> {
        let descriptions = self.descriptions.iter();
        descriptions.filter_map(|(_, _, description)| match description {
            Description::Server(server) => Some(&**server),
            Description::Adjustment(_) => None,
        })
    }

    /// Returns the servers of other files that entries change, and how.
    pub(super) fn changes(&self) -> Vec<(String, String)> {
        let descriptions = self.descriptions.iter();
        let changes = descriptions.filter_map(|(name, _, description)| match description {
            Description::Server(_) => None,
            Description::Adjustment(adjustment) => Some((name.clone(), adjustment.summary())),
        });
        changes.collect()
    }

    pub(super) fn parse(
        path: Option<&Path>,
        text: &str,
        origin: EntryOrigin,
    ) -> Result<Self, Problem> {
        let mut parsed = Self {
            path: path.map(Path::to_owned),
            origin,
            digest: FileDigest::of(text.as_bytes()),
            descriptions: Vec::new(),
            problems: Vec::new(),
        };
        // Some editors put a mark of the encoding first.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if let Some(servers) = servers_of(path, text)? {
            for (name, value) in servers.entries {
                parsed.add(text, name, value);
            }
        }
        Ok(parsed)
    }

    fn add(&mut self, text: &str, name: String, value: &RawValue) {
        let place = Place {
            file: self.path.clone(),
            line: document::line(text, value.get()),
            server: name.clone(),
        };
        if self.descriptions.len() == MAX_SERVERS_IN_FILE {
            let problem = format!("a file may describe {MAX_SERVERS_IN_FILE} servers at most");
            self.problems.push(place.left_out(problem));
            return;
        }
        let directory = self.path.as_deref().and_then(Path::parent);
        let described = description::describe(&name, value, &self.origin, directory);
        let warnings = described.warnings.into_iter();
        self.problems
            .extend(warnings.map(|text| place.warning(text)));
        match described.outcome {
            Ok(description) => {
                if let Some(first) = self
                    .descriptions
                    .iter()
                    .position(|(other, ..)| *other == name)
                {
                    self.descriptions.remove(first);
                    let problem = "is described twice in this file: the last one counts";
                    self.problems.push(place.warning(problem));
                }
                self.descriptions.push((name, place.line, description));
            }
            Err(text) => self.problems.push(place.left_out(text)),
        }
    }
}

/// Returns the object of servers in `text`; `None` if the file is empty or has no servers.
pub(super) fn servers_of<'a>(
    path: Option<&Path>,
    text: &'a str,
) -> Result<Option<Object<'a>>, Problem> {
    let problem = |line: Option<usize>, text: String| Problem {
        file: path.map(Path::to_owned),
        ..Problem::of_file(Path::new(""), line, text)
    };
    // A file that was created but not written yet.
    if text.trim().is_empty() {
        return Ok(None);
    }
    let object = Object::parse(text).map_err(|error| {
        // The parser's own words would repeat a value.
        let text = match error.is_data() {
            true => "expected a JSON object".to_owned(),
            false => document::without_position(&error),
        };
        problem(Some(error.line()), text)
    })?;
    let Some(servers) = object.get(SERVERS) else {
        // The keys of VS Code, codex and opencode, and servers without any.
        let is_other = |(key, value): &(String, &RawValue)| {
            ["servers", "mcp", "mcp_servers"].contains(&key.as_str())
                || Object::parse(value.get())
                    .is_ok_and(|entry| entry.get("command").is_some() || entry.get("url").is_some())
        };
        return match object.entries.iter().find(|entry| is_other(entry)) {
            Some((key, value)) => Err(problem(
                Some(document::line(text, value.get())),
                format!("expected the servers below {SERVERS:?}, found {key:?}"),
            )),
            None => Ok(None),
        };
    };
    let line = document::line(text, servers.get());
    Object::parse(servers.get()).map(Some).map_err(|_| {
        let problem_text = format!("{SERVERS:?} must be an object with a server for each name");
        problem(Some(line), problem_text)
    })
}
