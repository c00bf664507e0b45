//! Files as they were before tools changed them, kept beside the session by their content.
//!
//! `NAME.files/objects/<sha256>` hold contents, each once; `NAME.files/changes.jsonl` says which file
//! had which before and after. A content is kept and named before its file is changed.

#[cfg(test)]
mod tests;
mod undo;

use std::collections::HashSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zot_conversation::Timestamp;

pub use undo::{FileOutcome, IfChanged, Undone, UndoneFile};

use crate::id::{hex, random_id};

const CHANGES: &str = "changes.jsonl";
const OBJECTS: &str = "objects";

/// The folder beside a session file that holds what its tools changed.
pub(crate) fn folder_of(session: &Path) -> PathBuf {
    session.with_extension("files")
}

/// What a file was before a tool changed it.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    /// There was none.
    Missing,
    Content(&'a [u8]),
    /// It could not be kept: too large, or unreadable.
    Unknown,
}

/// One change of one file by a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Counted from 1 over the whole session.
    pub number: u64,
    pub time: Timestamp,
    /// The time of the prompt it was made for.
    pub prompt: Timestamp,
    pub tool: String,
    pub path: PathBuf,
    /// The SHA-256 of what was there; `None` when there was nothing, or when it is not `kept`.
    pub before: Option<String>,
    pub kept: bool,
    pub after: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record {
    Change { change: Change },
    Undone { numbers: Vec<u64>, time: Timestamp },
}

/// Something beside the session could not be kept or brought back.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep a copy for undo in {}: {source}", .path.display())]
pub struct CheckpointError {
    path: PathBuf,
    source: io::Error,
}

/// The changed files of a session.
#[derive(Debug)]
pub struct Checkpoints {
    folder: PathBuf,
    /// The time of the prompt that runs.
    prompt: Mutex<Timestamp>,
}

impl Checkpoints {
    /// Those of the session in the file `session`. Nothing is made before something changes.
    pub fn beside(session: &Path) -> Self {
        Self {
            folder: folder_of(session),
            prompt: Mutex::default(),
        }
    }

    /// Counts changes from now on to the prompt of this time.
    pub fn begin_prompt(&self, time: Timestamp) {
        *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Keeps what is about to be changed.
    pub fn keep(
        &self,
        tool: &str,
        path: &Path,
        before: Before<'_>,
        after: &[u8],
    ) -> Result<(), CheckpointError> {
        let failed = |source| CheckpointError {
            path: self.folder.clone(),
            source,
        };
        // Held while the change is numbered and written down, because calls may run side by side.
        let prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = match before {
            Before::Content(content) => Some(self.store(content).map_err(failed)?),
            Before::Missing | Before::Unknown => None,
        };
        let change = Change {
            number: self.records().map_err(failed)?.next_number(),
            time: Timestamp::now(),
            prompt: *prompt,
            tool: tool.to_owned(),
            path: path.to_owned(),
            before: digest,
            kept: !matches!(before, Before::Unknown),
            after: digest_of(after),
        };
        self.append(&Record::Change { change }).map_err(failed)
    }

    /// The changes that were not undone, in the order they were made.
    pub fn changes(&self) -> io::Result<Vec<Change>> {
        let Records { changes, undone } = self.records()?;
        let left = changes.into_iter();
        Ok(left
            .filter(|change| !undone.contains(&change.number))
            .collect())
    }

    fn records(&self) -> io::Result<Records> {
        let text = match fs::read(self.folder.join(CHANGES)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut records = Records::default();
        for line in text.split(|byte| *byte == b'\n') {
            // A record that is torn was never followed by its change.
            match serde_json::from_slice(line) {
                Ok(Record::Change { change }) => records.changes.push(change),
                Ok(Record::Undone { numbers, .. }) => records.undone.extend(numbers),
                Err(_) => {}
            }
        }
        Ok(records)
    }

    fn append(&self, record: &Record) -> io::Result<()> {
        let path = self.folder.join(CHANGES);
        let mut line = Vec::new();
        if !ends_with_line_feed(&path) {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, record)?;
        line.push(b'\n');
        make_folder(&self.folder)?;
        OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?
            .write_all(&line)
    }

    /// Keeps a content and returns its digest.
    fn store(&self, content: &[u8]) -> io::Result<String> {
        let digest = digest_of(content);
        let objects = self.folder.join(OBJECTS);
        let path = objects.join(&digest);
        if path
            .metadata()
            .is_ok_and(|kept| kept.len() == content.len() as u64)
        {
            return Ok(digest);
        }
        make_folder(&objects)?;
        let temporary = objects.join(format!(".{}", random_id()));
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written.map(|()| digest)
    }

    /// A content that was kept, checked against its digest.
    fn load(&self, digest: &str) -> io::Result<Vec<u8>> {
        let content = fs::read(self.folder.join(OBJECTS).join(digest))?;
        if digest_of(&content) == digest {
            Ok(content)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the copy that was kept is damaged",
            ))
        }
    }
}

#[derive(Default)]
struct Records {
    changes: Vec<Change>,
    undone: HashSet<u64>,
}

impl Records {
    fn next_number(&self) -> u64 {
        let last = self.changes.iter().map(|change| change.number).max();
        last.unwrap_or_default() + 1
    }
}

fn digest_of(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Whether a new record can be added as it is: a process may have been killed while it wrote one.
fn ends_with_line_feed(path: &Path) -> bool {
    match fs::read(path) {
        Ok(text) => text.last().is_none_or(|last| *last == b'\n'),
        Err(_) => true,
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
