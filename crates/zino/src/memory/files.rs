//! The store of files: those of the original, which the original may use at the same time.

mod array;
mod channels;
mod directory;
mod file;
mod hard;
mod raw;
mod soft;
#[cfg(test)]
mod tests;
mod transfer;

use std::path::{Path, PathBuf};

use tokio::sync::mpsc;
use zot_wire::zino::Response as _;
use zot_wire::zino::memory::{ChannelEntry, FoundMemory, Request, Response};

use super::claims::unshared_claim;
use super::error::StoreError;
use super::stored::NewMemory;
use super::{MAX_INLINE_MESSAGES, RequestError, history_limit, wanted};

use channels::Channels;
use directory::Directory;
use hard::HardMemories;
use soft::SoftMemory;

pub(super) use raw::{RawPart, is_vacant};

/// The longest soft memory, note or list of channels that is read.
///
/// Limit: a larger soft memory, note or list of channels is refused.
const MAX_STORED_BYTES: u64 = 256 << 20;

/// What is stored below one directory. Its methods block.
pub(super) struct FileStore {
    channels: Channels,
    hard: HardMemories,
    soft: SoftMemory,
}

/// Files that were cut off, and the errors of those that could not be examined.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TornFiles {
    pub files: Vec<PathBuf>,
    pub errors: Vec<String>,
}

impl FileStore {
    pub(super) fn new(directory: &Path) -> Self {
        let root = Directory::new(directory.to_owned());
        Self {
            channels: Channels::new(Directory::new(directory.join("channels"))),
            hard: HardMemories::new(root.clone()),
            soft: SoftMemory::new(root),
        }
    }

    /// Repairs files whose end a killed process cut off.
    pub(super) fn repair_while(&self, keep_going: &dyn Fn() -> bool) -> TornFiles {
        self.each_file(keep_going, file::repair_torn)
    }

    /// Finds what [`Self::repair_while`] would repair, without changing anything.
    pub(super) fn find_torn(&self) -> TornFiles {
        self.each_file(&|| true, |path, _| file::is_torn(path))
    }

    /// Builds the index of many memories before the first search.
    pub(super) fn build_ahead(&self, keep_going: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.hard.build_ahead(keep_going)
    }

    /// Collects the files for which `is_torn` returns true.
    fn each_file(
        &self,
        keep_going: &dyn Fn() -> bool,
        is_torn: impl Fn(&Path, &Directory) -> Result<bool, StoreError>,
    ) -> TornFiles {
        let mut torn = TornFiles::default();
        let channels = self.channels.paths().unwrap_or_else(|error| {
            torn.errors.push(error.to_string());
            Vec::new()
        });
        let hard = (self.hard.path().to_owned(), self.hard.directory());
        let files = channels
            .into_iter()
            .map(|path| (path, self.channels.directory()))
            .chain([hard]);
        for (path, directory) in files {
            if !keep_going() {
                break;
            }
            match is_torn(&path, directory) {
                Ok(true) => torn.files.push(path),
                Ok(false) => {}
                Err(error) => torn.errors.push(error.to_string()),
            }
        }
        torn
    }

    /// Responds without another thread where that takes microseconds, less than waking a thread, and
    /// nothing has to be waited for: everything else in the process would wait too. Anything unusual is
    /// left to [`Self::respond`].
    pub(super) fn respond_inline(&self, request: &Request) -> Option<Response> {
        match request {
            Request::GetHistory { channel_id, limit } => {
                let limit = history_limit(*limit)?;
                if limit > MAX_INLINE_MESSAGES {
                    return None;
                }
                let history = self.channels.history_without_waiting(channel_id, limit);
                let messages = history.ok()??;
                Some(Response::History { messages })
            }
            Request::AppendHistory {
                channel_id,
                messages,
                call: None,
                hold: None,
            } => match self.channels.append_without_waiting(channel_id, messages) {
                Ok(true) => Some(Response::Done),
                Ok(false) => None,
                Err(error) => Some(Response::error(error.to_string())),
            },
            Request::SearchHard { .. } if self.hard.is_absent() => Some(Response::HardMemories {
                results: Vec::new(),
            }),
            _ => None,
        }
    }

    /// Returns the last frame of the response; earlier ones go to `frames`.
    pub(super) fn respond(
        &self,
        request: Request,
        frames: &mpsc::Sender<Response>,
    ) -> Result<Response, RequestError> {
        Ok(match request {
            Request::GetHistory { channel_id, limit } => Response::History {
                messages: self.channels.history(&channel_id, history_limit(limit))?,
            },
            Request::AppendHistory {
                channel_id,
                messages,
                call: None,
                hold: None,
            } => {
                self.channels.append(&channel_id, &messages)?;
                Response::Done
            }
            Request::ClearHistory { channel_id } => {
                self.channels.clear(&channel_id)?;
                Response::Done
            }
            Request::ListChannels => Response::Channels {
                channels: self
                    .channels
                    .list()?
                    .into_iter()
                    .map(|listed| ChannelEntry {
                        bytes: listed.bytes,
                        channel_id: listed.channel_id,
                    })
                    .collect(),
            },
            Request::SearchHard { query, top_k } => Response::HardMemories {
                results: self.search(&query, top_k)?,
            },
            Request::StoreHard {
                messages,
                tag,
                call: None,
            } => Response::Stored {
                id: self.hard.store(&[NewMemory { messages, tag }])?,
            },
            // Writers of files lock for the time of a write.
            Request::HoldChannel { .. } => Response::Held { fence: None },
            Request::Claim(request) => unshared_claim(&request),
            Request::AppendHistory { .. } | Request::StoreHard { .. } => {
                return Err(StoreError::NeedsDatabase.into());
            }
            Request::DeleteHard { id } => {
                self.hard.delete(id)?;
                Response::Done
            }
            Request::GetSoft => Response::SoftMemory {
                content: self.soft.get()?,
            },
            Request::SetSoft { content } => {
                self.soft.set(&content)?;
                Response::Done
            }
            Request::Export => self.export(frames)?,
            Request::Import { items } => self.import(items, frames)?,
        })
    }

    fn search(&self, query: &str, top_k: Option<i64>) -> Result<Vec<FoundMemory>, StoreError> {
        self.hard.search(query, wanted(top_k))
    }
}
