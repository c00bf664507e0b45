//! `mem`: histories of channels, hard memories that are searched, one soft memory.
//!
//! Everything is stored in the original's files, which the original may use at the same time. Requests
//! are handled on blocking threads: the services share one thread.

mod array;
mod channels;
mod directory;
mod element;
mod error;
mod file;
mod hard;
mod index;
mod soft;
#[cfg(test)]
mod tests;
mod tokens;
mod transfer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_wire::zino::Response as _;
use zot_wire::zino::memory::{ChannelEntry, FoundMemory, Request, Response};

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::service::{HungUp, Responses, Service};

use channels::Channels;
use directory::Directory;
use error::StoreError;
use hard::{HardMemories, NewMemory};
use index::Wanted;
use soft::SoftMemory;

/// How many messages are read without a blocking thread.
///
/// Limit: more messages are read on a blocking thread.
const MAX_INLINE_MESSAGES: usize = 1000;

/// How many frames wait for the caller.
///
/// Limit: `mem` waits for the reader.
const FRAMES_AHEAD: usize = 4;

/// How many memories a search finds unless the request says otherwise.
const DEFAULT_TOP_K: i64 = 3;

/// The longest soft memory, note or list of channels that is read.
///
/// Limit: a larger soft memory, note or list of channels is refused.
const MAX_STORED_BYTES: u64 = 256 << 20;

/// Serves what is stored below one directory.
pub struct MemoryService(Arc<Store>);

struct Store {
    channels: Channels,
    hard: HardMemories,
    soft: SoftMemory,
}

impl MemoryService {
    pub fn new(config: &Config) -> Self {
        let directory = &config.mem.data_dir;
        let root = Directory::new(directory.clone());
        Self(Arc::new(Store {
            channels: Channels::new(Directory::new(directory.join("channels"))),
            hard: HardMemories::new(root.clone()),
            soft: SoftMemory::new(root),
        }))
    }

    /// Repairs files whose end a killed process cut off. This service repairs them on first use anyway;
    /// the original cannot. Blocks.
    pub fn repair(&self) -> TornFiles {
        self.repair_while(&|| true)
    }

    /// Finds what [`Self::repair`] would repair, without changing anything. Blocks.
    pub fn find_torn(&self) -> TornFiles {
        self.0.each_file(&|| true, |path, _| file::is_torn(path))
    }

    fn repair_while(&self, keep_going: &dyn Fn() -> bool) -> TornFiles {
        self.0.each_file(keep_going, file::repair_torn)
    }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    HungUp(#[from] HungUp),
}

/// Files that were cut off, and the errors of those that could not be examined.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TornFiles {
    pub files: Vec<PathBuf>,
    pub errors: Vec<String>,
}

impl Service for MemoryService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn prepare(&self, log: Log, stop: &CancellationToken) {
        let keep_going = || !stop.is_cancelled();
        let TornFiles { files, errors } = self.repair_while(&keep_going);
        for file in files {
            log.warning(format_args!(
                "{} was cut off and has been repaired",
                file.display()
            ));
        }
        for error in errors {
            log.error(format_args!("not repaired: {error}"));
        }
        match self.0.hard.build_ahead(&keep_going) {
            Ok(()) | Err(StoreError::Stopped) => {}
            Err(error) => log.error(format_args!("the memories cannot be searched: {error}")),
        }
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            if let Some(response) = store.respond_inline(&request) {
                return responses.finish(response).await;
            }
            // Frames are forwarded here: a caller in the same process is woken only by what the service
            // itself sends.
            let (sink, mut frames) = mpsc::channel(FRAMES_AHEAD);
            let work = tokio::task::spawn_blocking(move || store.respond(request, &sink));
            while let Some(frame) = frames.recv().await {
                if responses.send(frame).await.is_err() {
                    return;
                }
            }
            let response = match work.await {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => Response::error(error.to_string()),
                Err(_) => Response::error("the request could not be finished"),
            };
            responses.finish(response).await;
        })
    }
}

impl Store {
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
    fn respond_inline(&self, request: &Request) -> Option<Response> {
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
    fn respond(
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
            Request::StoreHard { messages, tag } => Response::Stored {
                id: self.hard.store(&[NewMemory { messages, tag }])?,
            },
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
        let count = top_k.unwrap_or(DEFAULT_TOP_K);
        let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
        let wanted = if count < 0 {
            Wanted::AllBut(magnitude)
        } else {
            Wanted::Best(magnitude)
        };
        self.hard.search(query, wanted)
    }
}

/// How many messages of a history are requested; `None` for all.
fn history_limit(limit: Option<i64>) -> Option<usize> {
    let limit = usize::try_from(limit.unwrap_or(0)).ok();
    limit.filter(|&limit| limit > 0)
}
