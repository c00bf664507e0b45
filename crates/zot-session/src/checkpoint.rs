//! The contents of files before tools changed them, kept next to the session.
//!
//! `NAME.files/objects/<sha256>` holds each content once; `NAME.files/changes.jsonl` records which
//! file had which content before and after. A content is stored and recorded before its file is
//! changed; the identity of the file is recorded after the change. None of these names may be a
//! link.

#[cfg(test)]
mod tests;
mod undo;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zot_conversation::Timestamp;
use zot_files::{Directory, Durability, FileIdentity, WalkedFile, read_to_limit};

pub use undo::{FileOutcome, IfChanged, Undone, UndoneFile};

use crate::id::hex;

const CHANGES: &str = "changes.jsonl";
const OBJECTS: &str = "objects";

/// The longest list of changes that is read. Each takes a few hundred bytes.
///
/// Limit: nothing more is kept for undo, and no file is changed.
const MAX_CHANGES_BYTES: u64 = 256 * 1024 * 1024;

/// The largest content that is kept or compared; the tools keep nothing larger.
///
/// Limit: a larger file counts as changed since.
const MAX_CHECKPOINT_BYTES: u64 = 64 * 1024 * 1024;

/// Returns the directory next to a session file that holds what its tools changed.
pub(crate) fn directory_of(session: &Path) -> PathBuf {
    session.with_extension("files")
}

/// What a file was before a tool changed it.
#[derive(Debug, Clone, Copy)]
pub enum Before<'a> {
    /// The file did not exist.
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
    /// The SHA-256 of the earlier content; `None` if the file did not exist or its content is not
    /// `kept`.
    pub before: Option<String>,
    pub kept: bool,
    pub after: String,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Record {
    Change { change: Change },
    Made { number: u64, made: Made },
    Undone { numbers: Vec<u64>, time: Timestamp },
}

/// The file that a change left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Made {
    device: u64,
    inode: u64,
    /// How many hard links it had. A file with several is changed under all of them.
    links: u64,
    mode: u32,
}

impl Made {
    fn identity(&self) -> FileIdentity {
        FileIdentity {
            device: self.device,
            inode: self.inode,
        }
    }
}

/// A checkpoint could not be stored or restored.
#[derive(Debug, thiserror::Error)]
#[error("cannot keep a copy for undo in {}: {source}", .path.display())]
pub struct CheckpointError {
    path: PathBuf,
    source: io::Error,
}

/// The changed files of a session.
#[derive(Debug)]
pub struct Checkpoints {
    directory: PathBuf,
    durability: Durability,
    /// The time of the running prompt.
    prompt: Mutex<Timestamp>,
}

impl Checkpoints {
    /// Returns the checkpoints of the session in the file `session`. No file is created before the
    /// first change.
    pub fn beside(session: &Path, durability: Durability) -> Self {
        Self {
            directory: directory_of(session),
            durability,
            prompt: Mutex::default(),
        }
    }

    /// Assigns later changes to the prompt of this time.
    pub fn begin_prompt(&self, time: Timestamp) {
        *self.prompt.lock().unwrap_or_else(PoisonError::into_inner) = time;
    }

    /// Stores the content that is about to be changed, and returns the number of the change.
    pub fn keep(
        &self,
        tool: &str,
        path: &Path,
        before: Before<'_>,
        after: &[u8],
    ) -> Result<u64, CheckpointError> {
        let failed = |source| CheckpointError {
            path: self.directory.clone(),
            source,
        };
        // Held while the change is numbered and recorded, because calls may run concurrently.
        let prompt = self.prompt.lock().unwrap_or_else(PoisonError::into_inner);
        let digest = match before {
            Before::Content(content) => Some(self.store(content).map_err(failed)?),
            Before::Missing | Before::Unknown => None,
        };
        let number = self.records().map_err(failed)?.next_number();
        let change = Change {
            number,
            time: Timestamp::now(),
            prompt: *prompt,
            tool: tool.to_owned(),
            path: path.to_owned(),
            before: digest,
            kept: !matches!(before, Before::Unknown),
            after: digest_of(after),
        };
        self.append(&Record::Change { change }).map_err(failed)?;
        Ok(number)
    }

    /// Records the identity of the file after the change.
    ///
    /// Without that record an undo still compares contents, but never writes through a hard link. A
    /// failure loses little, and the change itself has been made: it is not reported.
    pub fn record_made(&self, number: u64, path: &Path) {
        let Ok(file) = WalkedFile::find(path) else {
            return;
        };
        if let (Some(identity), Some(mode)) = (file.identity(), file.mode()) {
            let made = Made {
                device: identity.device,
                inode: identity.inode,
                links: file.links(),
                mode,
            };
            let _ = self.append(&Record::Made { number, made });
        }
    }

    /// Returns the changes that were not undone, in the order they were made.
    pub fn changes(&self) -> io::Result<Vec<Change>> {
        let Records {
            changes, undone, ..
        } = self.records()?;
        let left = changes.into_iter();
        Ok(left
            .filter(|change| !undone.contains(&change.number))
            .collect())
    }

    fn records(&self) -> io::Result<Records> {
        let text = self.read_changes().map_err(|error| {
            let path = self.directory.join(CHANGES);
            io::Error::new(error.kind(), format!("{}: {error}", path.display()))
        })?;
        let mut records = Records::default();
        for line in text.split(|byte| *byte == b'\n') {
            // The change of a torn record was never made.
            match serde_json::from_slice(line) {
                Ok(Record::Change { change }) => records.changes.push(change),
                Ok(Record::Made { number, made }) => {
                    records.made.insert(number, made);
                }
                Ok(Record::Undone { numbers, .. }) => records.undone.extend(numbers),
                Err(_) => {}
            }
        }
        Ok(records)
    }

    fn read_changes(&self) -> io::Result<Vec<u8>> {
        let opened = match self.open_directory()? {
            Some(directory) => directory.open_regular(CHANGES)?,
            None => None,
        };
        match opened {
            Some(file) => read_to_limit(file, MAX_CHANGES_BYTES),
            None => Ok(Vec::new()),
        }
    }

    fn append(&self, record: &Record) -> io::Result<()> {
        let directory = self.make_directory()?;
        let mut file = directory.append(CHANGES, 0o600)?;
        if file.metadata()?.len() == 0 {
            directory.settle(self.durability)?;
        }
        let mut line = Vec::new();
        if !ends_with_line_feed(&mut file)? {
            line.push(b'\n');
        }
        serde_json::to_writer(&mut line, record)?;
        line.push(b'\n');
        file.write_all(&line)?;
        self.durability.settle(&file)
    }

    /// Stores a content and returns its digest.
    fn store(&self, content: &[u8]) -> io::Result<String> {
        let digest = digest_of(content);
        let objects = self.make_directory()?.enter_or_create(OBJECTS, 0o700)?;
        if let Some(kept) = objects.open_regular(&digest)?
            && kept.metadata()?.len() == content.len() as u64
        {
            return Ok(digest);
        }
        objects.replace_with(&digest, 0o600, self.durability, |file| {
            file.write_all(content)
        })?;
        Ok(digest)
    }

    /// Loads a stored content and checks it against its digest.
    fn load(&self, digest: &str) -> io::Result<Vec<u8>> {
        let damaged = || {
            let problem = "the copy that was kept is damaged";
            io::Error::new(io::ErrorKind::InvalidData, problem)
        };
        // The digest becomes a file name, so it must not be anything else.
        if digest.len() != 64 || !digest.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(damaged());
        }
        let directory = self.open_directory()?.ok_or_else(missing)?;
        let kept = directory.enter(OBJECTS)?.open_regular(digest)?;
        let content = read_to_limit(kept.ok_or_else(missing)?, MAX_CHECKPOINT_BYTES)?;
        match digest_of(&content) == digest {
            true => Ok(content),
            false => Err(damaged()),
        }
    }

    fn open_directory(&self) -> io::Result<Option<Directory>> {
        match Directory::open(&self.directory) {
            Ok(directory) => Ok(Some(directory)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn make_directory(&self) -> io::Result<Directory> {
        if let Some(directory) = self.open_directory()? {
            return Ok(directory);
        }
        zot_files::create_private_directory(&self.directory)?;
        let directory = Directory::open(&self.directory)?;
        directory.enter_or_create(OBJECTS, 0o700)?;
        directory.settle(self.durability)?;
        if let Some(above) = self.directory.parent() {
            Directory::open(&above.canonicalize()?)?.settle(self.durability)?;
        }
        Ok(directory)
    }
}

#[derive(Default)]
struct Records {
    changes: Vec<Change>,
    made: HashMap<u64, Made>,
    undone: HashSet<u64>,
}

impl Records {
    fn next_number(&self) -> u64 {
        let last = self.changes.iter().map(|change| change.number).max();
        last.unwrap_or_default().saturating_add(1)
    }
}

fn missing() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "the copy that was kept is missing")
}

fn digest_of(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

/// Returns whether the last record is complete: a process may have been killed while it wrote one.
fn ends_with_line_feed(file: &mut File) -> io::Result<bool> {
    if file.metadata()?.len() == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
