//! Writes a session file so that a crash at any byte loses nothing acknowledged.

#[cfg(test)]
mod tests;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use zot_conversation::{Message, Timestamp, Usage};

use crate::record::{MetaRecord, Record};

/// What a session file says about itself.
#[derive(Debug, Clone)]
pub struct SessionMeta {
    pub cwd: String,
    pub model: String,
    pub provider: String,
    pub started: Timestamp,
    /// The version of the program that writes the file.
    pub version: String,
}

/// The session could not be written.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    #[error("cannot create {path}: {source} (use --no-session to go on without a session file)")]
    Create { path: PathBuf, source: io::Error },
    #[error("cannot write {path}: {source}")]
    Write { path: PathBuf, source: io::Error },
}

/// An open session file.
#[derive(Debug)]
pub struct SessionLog {
    path: PathBuf,
    file: Mutex<OpenLog>,
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    /// Where the last whole record ends: what a failed write left behind it is cut off.
    end: u64,
}

impl SessionLog {
    /// Creates a new file below `sessions`, readable by its owner only.
    pub fn create(sessions: &Path, meta: &SessionMeta) -> Result<Self, SessionError> {
        let id = random_id();
        let folder = sessions.join(folder_name(&meta.cwd));
        let name = format!(
            "{}-{}.jsonl",
            meta.started.strftime("%Y%m%d-%H%M%S"),
            id.get(..8).unwrap_or(&id)
        );
        let path = folder.join(name);
        let failed = |source| SessionError::Create {
            path: path.clone(),
            source,
        };
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(failed)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        // The file's name must survive a crash as well as its content.
        File::open(&folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed)?;
        let log = Self {
            path,
            file: Mutex::new(OpenLog { file, end: 0 }),
        };
        log.append(&Record::Meta {
            meta: &MetaRecord::new(&id, meta),
        })?;
        Ok(log)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn append_message(&self, message: &Arc<Message>) -> Result<(), SessionError> {
        self.append(&Record::Message {
            message: message.into(),
        })
    }

    pub fn append_usage(&self, turn: &Usage, cumulative: &Usage) -> Result<(), SessionError> {
        self.append(&Record::Usage {
            usage: turn.into(),
            cumulative: cumulative.into(),
        })
    }

    pub fn append_replacement(&self, messages: &[Arc<Message>]) -> Result<(), SessionError> {
        self.append(&Record::Replaced {
            messages: messages.iter().map(Into::into).collect(),
        })
    }

    /// Writes one record with one `write` and waits until it is on the disk.
    fn append(&self, record: &Record<'_>) -> Result<(), SessionError> {
        let failed = |source| SessionError::Write {
            path: self.path.clone(),
            source,
        };
        let mut line = serde_json::to_vec(record).map_err(|error| failed(error.into()))?;
        line.push(b'\n');
        let mut log = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let written = log
            .file
            .write_all(&line)
            .and_then(|()| log.file.sync_data());
        if let Err(error) = written {
            // Half a record would be read as a broken one once the next follows it.
            let _ = log.file.set_len(log.end);
            return Err(failed(error));
        }
        log.end += line.len() as u64;
        Ok(())
    }
}

/// The folder of a working directory: the first eight bytes of its SHA-256.
fn folder_name(cwd: &str) -> String {
    hex(Sha256::digest(cwd.as_bytes()).get(..8).unwrap_or_default())
}

/// A random UUID (version 4).
fn random_id() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness names only get more predictable; O_EXCL still keeps files apart.
    let _ = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty());
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits = hex(&bytes);
    [0..8, 8..12, 12..16, 16..20, 20..32]
        .map(|range| &digits[range])
        .join("-")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
