//! The histories of channels, a file each.

mod names;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use zot_wire::zino::Message;

use super::array::Shape;
use super::directory::Directory;
use super::file::{self, Access, Inspected, Locked};
use crate::memory::element::{Elements, StoredMessage};
use crate::memory::error::StoreError;
use crate::memory::stored::message;

use names::{Names, Purpose};

/// How many channels' files are remembered in the state this process left them.
///
/// Limit: the file of a further channel is examined again.
const MAX_REMEMBERED_CHANNELS: usize = 1024;

pub(super) struct Channels {
    directory: Directory,
    names: Names,
    remembered: Mutex<Remembered>,
}

/// What is known about the most recently used files.
#[derive(Default)]
struct Remembered {
    files: HashMap<PathBuf, (u64, Inspected)>,
    uses: u64,
}

/// A channel as it is listed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) channel_id: String,
    pub(super) bytes: u64,
}

impl Channels {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            names: Names::new(directory.clone()),
            directory,
            remembered: Mutex::default(),
        }
    }

    /// Returns the last `limit` messages of a channel whose file is unchanged and unlocked; `None` when
    /// that would mean waiting for the file or reading all of it.
    pub(super) fn history_without_waiting(
        &self,
        channel: &str,
        limit: usize,
    ) -> Result<Option<Vec<Message>>, StoreError> {
        let Some((_, known, locked)) = self.lock_unchanged(channel, Access::Read)? else {
            return Ok(None);
        };
        let last = match known.count {
            0 => Vec::new(),
            _ => locked.last(known.whole_end, limit)?,
        };
        Ok(Some(last.iter().map(|bytes| message(bytes)).collect()))
    }

    /// Appends to such a channel; returns `false`, having done nothing, for any other.
    pub(super) fn append_without_waiting(
        &self,
        channel: &str,
        messages: &[Message],
    ) -> Result<bool, StoreError> {
        if messages.is_empty() {
            return Ok(false);
        }
        let Some((path, known, locked)) = self.lock_unchanged(channel, Access::Append)? else {
            return Ok(false);
        };
        let elements = Elements::of(messages.iter().map(StoredMessage));
        self.append_locked(&path, &locked, &known, &elements)
            .map(|()| true)
    }

    fn lock_unchanged(
        &self,
        channel: &str,
        access: Access,
    ) -> Result<Option<(PathBuf, Inspected, Locked)>, StoreError> {
        let Some(path) = self.names.known(channel)? else {
            return Ok(None);
        };
        let Some(known) = self.recall(&path) else {
            return Ok(None);
        };
        match file::try_lock(&path, access)? {
            Some(locked) if locked.stamp()? == known.stamp => Ok(Some((path, known, locked))),
            _ => Ok(None),
        }
    }

    /// Returns the last `limit` messages of a channel, or all.
    pub(super) fn history(
        &self,
        channel: &str,
        limit: Option<usize>,
    ) -> Result<Vec<Message>, StoreError> {
        let Some(path) = self.names.path(channel, Purpose::Read)? else {
            return Ok(Vec::new());
        };
        for _ in 0..file::MAX_REPLACED_FILE_ATTEMPTS {
            let Some(locked) = file::lock(&path, Access::Read)? else {
                return Ok(Vec::new());
            };
            let Some(limit) = limit else {
                let (found, messages) = all(&locked)?;
                if self.check_or_repair(&path, locked, &found)? {
                    return Ok(messages);
                }
                continue;
            };
            let found = self.examine(&path, &locked)?;
            match found.shape {
                Shape::Canonical if found.count == 0 => return Ok(Vec::new()),
                Shape::Canonical => {
                    let last = locked.last(found.whole_end, limit)?;
                    return Ok(last.iter().map(|bytes| message(bytes)).collect());
                }
                Shape::Whole => {
                    let (_, mut messages) = all(&locked)?;
                    let surplus = messages.len().saturating_sub(limit);
                    return Ok(messages.split_off(surplus));
                }
                Shape::Torn | Shape::NotAnArray => {
                    self.check_or_repair(&path, locked, &found)?;
                }
            }
        }
        Err(StoreError::Busy(path))
    }

    pub(super) fn append(&self, channel: &str, messages: &[Message]) -> Result<(), StoreError> {
        let elements = Elements::of(messages.iter().map(StoredMessage));
        if elements.is_empty() {
            return Ok(());
        }
        for _ in 0..file::MAX_REPLACED_FILE_ATTEMPTS {
            let Some(path) = self.names.path(channel, Purpose::Append)? else {
                continue;
            };
            let Some(locked) = file::lock(&path, Access::Append)? else {
                let _guard = self.directory.lock()?;
                if file::create(&path, &elements)? {
                    return Ok(());
                }
                continue;
            };
            let found = self.examine(&path, &locked)?;
            if found.shape != Shape::Canonical {
                drop(locked);
                self.repair(&path)?;
                continue;
            }
            return self.append_locked(&path, &locked, &found, &elements);
        }
        Err(StoreError::Busy(self.directory.path().to_owned()))
    }

    fn append_locked(
        &self,
        path: &Path,
        locked: &Locked,
        known: &Inspected,
        elements: &Elements,
    ) -> Result<(), StoreError> {
        match locked.append(known, elements) {
            Ok((after, _)) => self.remember(path, after),
            Err(error) => {
                self.forget(path);
                return Err(error);
            }
        }
        Ok(())
    }

    pub(super) fn clear(&self, channel: &str) -> Result<(), StoreError> {
        let Some(path) = self.names.path(channel, Purpose::Read)? else {
            return Ok(());
        };
        let _guard = self.directory.lock()?;
        // Writers that wait for the lock notice that the file is gone.
        let locked = file::lock(&path, Access::Append)?;
        if locked.is_some() {
            fs::remove_file(&path).map_err(StoreError::io(&path))?;
        }
        self.forget(&path);
        Ok(())
    }

    pub(super) fn list(&self) -> Result<Vec<Listed>, StoreError> {
        let mut listed = Vec::new();
        for (stem, bytes) in self.files()? {
            listed.push(Listed {
                channel_id: self.names.channel_of(&stem)?,
                bytes,
            });
        }
        listed.sort_by(|left, right| left.channel_id.cmp(&right.channel_id));
        Ok(listed)
    }

    /// The files of all channels.
    pub(super) fn paths(&self) -> Result<Vec<PathBuf>, StoreError> {
        let path = |(stem, _)| self.directory.path().join(format!("{stem}.json"));
        Ok(self.files()?.into_iter().map(path).collect())
    }

    /// Lists the channels that have a file, and their files.
    pub(super) fn files_of_channels(&self) -> Result<Vec<(String, PathBuf)>, StoreError> {
        let path = |stem: &str| self.directory.path().join(format!("{stem}.json"));
        let files = self.files()?.into_iter();
        files
            .map(|(stem, _)| Ok((self.names.channel_of(&stem)?, path(&stem))))
            .collect()
    }

    /// Returns the file of a channel that is about to be written.
    pub(super) fn path_of(&self, channel: &str) -> Result<PathBuf, StoreError> {
        let path = self.names.path(channel, Purpose::Append)?;
        path.ok_or_else(|| StoreError::Busy(self.directory.path().to_owned()))
    }

    /// Returns the list of the files' channels, if there is one.
    pub(super) fn name_list(&self) -> Result<Option<Vec<u8>>, StoreError> {
        self.names.read_list()
    }

    pub(super) fn restore_name_list(&self, content: &[u8]) -> Result<(), StoreError> {
        let _guard = self.directory.lock()?;
        self.names.write_list(content)
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Lists the names, without extension, and the lengths of all files.
    fn files(&self) -> Result<Vec<(String, u64)>, StoreError> {
        let entries = match fs::read_dir(self.directory.path()) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io(self.directory.path())(error)),
        };
        let mut files = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(stem) = name.to_str().and_then(|name| name.strip_suffix(".json")) else {
                continue;
            };
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if !stem.is_empty() && !stem.starts_with('.') && metadata.is_file() {
                files.push((stem.to_owned(), metadata.len()));
            }
        }
        Ok(files)
    }

    /// Examines a file, reading only what has changed.
    fn examine(&self, path: &Path, locked: &Locked) -> Result<Inspected, StoreError> {
        let known = self.recall(path);
        let found = match known {
            Some(known) if known.stamp == locked.stamp()? => return Ok(known),
            Some(known) if locked.has_grown(&known)? => {
                let grown = locked.inspect(Some(&known), &mut |_, _| {})?;
                if grown.shape == Shape::Canonical {
                    grown
                } else {
                    locked.inspect(None, &mut |_, _| {})?
                }
            }
            _ => locked.inspect(None, &mut |_, _| {})?,
        };
        if found.shape == Shape::Canonical {
            self.remember(path, found);
        }
        Ok(found)
    }

    /// Returns true if what was read is valid. A torn file is repaired and must be read again.
    fn check_or_repair(
        &self,
        path: &Path,
        locked: Locked,
        found: &Inspected,
    ) -> Result<bool, StoreError> {
        match found.shape {
            Shape::Canonical | Shape::Whole => Ok(true),
            Shape::NotAnArray => Err(StoreError::NotAnArray(path.to_owned())),
            Shape::Torn => {
                drop(locked);
                self.repair(path)?;
                Ok(false)
            }
        }
    }

    fn repair(&self, path: &Path) -> Result<(), StoreError> {
        let _guard = self.directory.lock()?;
        file::normalise(path)
    }

    fn recall(&self, path: &Path) -> Option<Inspected> {
        let mut remembered = self.remembered();
        remembered.uses += 1;
        let uses = remembered.uses;
        let (used, known) = remembered.files.get_mut(path)?;
        *used = uses;
        Some(*known)
    }

    fn remember(&self, path: &Path, found: Inspected) {
        let mut remembered = self.remembered();
        let uses = remembered.uses;
        if let Some(entry) = remembered.files.get_mut(path) {
            *entry = (uses, found);
            return;
        }
        if remembered.files.len() >= MAX_REMEMBERED_CHANNELS {
            let oldest = remembered.files.iter().min_by_key(|(_, (used, _))| *used);
            if let Some(oldest) = oldest.map(|(path, _)| path.clone()) {
                remembered.files.remove(&oldest);
            }
        }
        remembered.files.insert(path.to_owned(), (uses, found));
    }

    fn forget(&self, path: &Path) {
        self.remembered().files.remove(path);
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Remembered> {
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn all(locked: &Locked) -> Result<(Inspected, Vec<Message>), StoreError> {
    let mut messages = Vec::new();
    let found = locked.inspect(None, &mut |_, bytes| messages.push(message(bytes)))?;
    Ok((found, messages))
}
