//! Which file belongs to which channel.
//!
//! A file is named after its channel, with everything but `[A-Za-z0-9_-]` replaced by `_`, as in the
//! original. Where two channels would share a file, `-` and a hash of its id is appended to the name of
//! one of them. `.ids.jsonl` records the channel of each file, one line each; the last line for a file
//! wins.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use zot_files::{open_itself, read_bytes};

use crate::memory::error::StoreError;
use crate::memory::files::MAX_STORED_BYTES;
use crate::memory::files::directory::Directory;
use crate::memory::files::file::{self, FILE_MODE};

/// Longer names get a hash: file systems allow 255 bytes.
///
/// Limit: the channel's file is named by a hash.
const MAX_CHANNEL_NAME_BYTES: usize = 200;

/// What a file is needed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    Read,
    Append,
}

/// A line of `.ids.jsonl`.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Claim {
    file: String,
    id: String,
    /// The channel that had the file before it was moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<String>,
}

pub(super) struct Names {
    directory: Directory,
    claims: Mutex<Claims>,
}

#[derive(Default)]
struct Claims {
    by_file: HashMap<String, Claim>,
    /// Inode and length of what was read.
    read: Option<(u64, u64)>,
}

impl Names {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            directory,
            claims: Mutex::default(),
        }
    }

    /// Finds the file of a channel; `None` when it has none yet.
    pub(super) fn path(
        &self,
        channel: &str,
        purpose: Purpose,
    ) -> Result<Option<PathBuf>, StoreError> {
        if let Some(path) = self.known(channel)? {
            return Ok(Some(path));
        }
        let name = sanitised(channel);
        if purpose == Purpose::Read && !exists(&self.file(&name)) {
            return Ok(None);
        }
        let _guard = self.directory.lock()?;
        // Another process may have been first.
        if let Some(path) = self.claimed(channel, &name)? {
            return Ok(Some(path));
        }
        let owner = self.owner(&name)?;
        match owner {
            _ if name.len() > MAX_CHANNEL_NAME_BYTES => {
                self.claim(&hashed(channel, &name), channel, None)
            }
            None => self.claim(&name, channel, None),
            Some(_) if purpose == Purpose::Read => return Ok(None),
            // A name that is another channel's with its hash, and only looks like this one's, stays.
            Some(owner) if name == channel && sanitised(&owner) == name => {
                self.move_away(&owner, &name)?;
                self.claim(&name, channel, Some(&owner))?;
                self.finish_move(&owner, &name);
                return Ok(Some(self.file(&name)));
            }
            Some(_) => self.claim(&hashed(channel, &name), channel, None),
        }
        .map(|file| Some(self.file(&file)))
    }

    /// Finds the file of a channel if that is possible without a lock.
    pub(super) fn known(&self, channel: &str) -> Result<Option<PathBuf>, StoreError> {
        let name = sanitised(channel);
        if name == channel && !name.contains('_') && name.len() <= MAX_CHANNEL_NAME_BYTES {
            // No other channel can get this name.
            return Ok(Some(self.file(&name)));
        }
        self.claimed(channel, &name)
    }

    /// The channel a file belongs to.
    pub(super) fn channel_of(&self, file: &str) -> Result<String, StoreError> {
        Ok(self.owner(file)?.unwrap_or_else(|| file.to_owned()))
    }

    /// The bytes of the records.
    pub(super) fn read_list(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.list();
        read_bytes(&path, MAX_STORED_BYTES).map_err(StoreError::io(&path))
    }

    /// Replaces the records. The caller holds the directory's lock.
    pub(super) fn write_list(&self, content: &[u8]) -> Result<(), StoreError> {
        file::replace(&self.list(), |file| file.write_all(content))
    }

    /// The file recorded for this channel.
    fn claimed(&self, channel: &str, name: &str) -> Result<Option<PathBuf>, StoreError> {
        let hashed = hashed(channel, name);
        let claims = self.claims()?;
        if let Some(claim) = claims.by_file.get(name)
            && claim.id == channel
        {
            let from = claim.from.clone();
            drop(claims);
            if let Some(from) = from {
                self.finish_move(&from, name);
            }
            return Ok(Some(self.file(name)));
        }
        let path = self.file(&hashed);
        let known = match claims.by_file.get(&hashed) {
            Some(claim) => claim.id == channel,
            // The list may have been lost.
            None => exists(&path),
        };
        Ok(known.then_some(path))
    }

    fn owner(&self, file: &str) -> Result<Option<String>, StoreError> {
        let claims = self.claims()?;
        Ok(claims.by_file.get(file).map(|claim| claim.id.clone()))
    }

    /// Moves the previous owner of the file to a file of its own. Both names stay until the claim is written.
    fn move_away(&self, owner: &str, name: &str) -> Result<(), StoreError> {
        let (old, new) = (self.file(name), self.file(&hashed(owner, name)));
        self.claim(&hashed(owner, name), owner, None)?;
        match fs::hard_link(&old, &new) {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            // Left by an interrupted move.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(_) => fs::rename(&old, &new).map_err(StoreError::io(&old)),
        }
    }

    /// Removes the old name of a file that has been moved.
    fn finish_move(&self, owner: &str, name: &str) {
        let (old, new) = (self.file(name), self.file(&hashed(owner, name)));
        if inode(&old).is_some() && inode(&old) == inode(&new) {
            let _ = fs::remove_file(old);
        }
    }

    /// Records which channel a file belongs to. The caller holds the directory's lock.
    fn claim(&self, file: &str, id: &str, from: Option<&str>) -> Result<String, StoreError> {
        let claim = Claim {
            file: file.to_owned(),
            id: id.to_owned(),
            from: from.map(str::to_owned),
        };
        let path = self.list();
        let mut line = serde_json::to_vec(&claim)
            .map_err(io::Error::other)
            .map_err(StoreError::io(&path))?;
        line.push(b'\n');
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(FILE_MODE);
        let mut list = open_itself(&path, &mut options).map_err(StoreError::io(&path))?;
        let mut append = || {
            let length = list.metadata()?.len();
            let mut last = [b'\n'];
            if length > 0 {
                list.read_exact_at(&mut last, length - 1)?;
            }
            if last != [b'\n'] {
                // A truncated line must not swallow this one.
                line.insert(0, b'\n');
            }
            list.write_all(&line)?;
            list.metadata()
        };
        let written = append().map_err(StoreError::io(&path))?;
        // All lines before this one have been read since the directory was locked.
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        claims.by_file.insert(file.to_owned(), claim);
        claims.read = Some((written.ino(), written.len()));
        Ok(file.to_owned())
    }

    /// The records, read again when they have changed.
    fn claims(&self) -> Result<MutexGuard<'_, Claims>, StoreError> {
        let path = self.list();
        let mut claims = self.claims.lock().unwrap_or_else(PoisonError::into_inner);
        let now = fs::metadata(&path)
            .ok()
            .map(|metadata| (metadata.ino(), metadata.len()));
        if claims.read == now {
            return Ok(claims);
        }
        let text = self.read_list()?.unwrap_or_default();
        claims.by_file.clear();
        for line in text.split(|&byte| byte == b'\n') {
            if let Ok(claim) = serde_json::from_slice::<Claim>(line) {
                claims.by_file.insert(claim.file.clone(), claim);
            }
        }
        claims.read = now;
        Ok(claims)
    }

    fn list(&self) -> PathBuf {
        self.directory.path().join(".ids.jsonl")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(format!("{name}.json"))
    }
}

pub(super) fn sanitised(channel: &str) -> String {
    channel
        .chars()
        .map(|character| {
            if character.is_ascii_alphanumeric() || character == '_' || character == '-' {
                character
            } else {
                '_'
            }
        })
        .collect()
}

fn hashed(channel: &str, name: &str) -> String {
    let digest = Sha256::digest(channel.as_bytes());
    let name = name.get(..MAX_CHANNEL_NAME_BYTES).unwrap_or(name);
    let hash: String = digest
        .iter()
        .take(4)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{name}-{hash}")
}

fn exists(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

fn inode(path: &Path) -> Option<(u64, u64)> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
