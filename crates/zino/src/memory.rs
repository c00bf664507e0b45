//! `mem`: histories of channels, hard memories that are searched, one soft memory.
//!
//! All of it is in the files of the original, which may be open to it at the same time. The work is
//! done on threads for blocking work: a service shares its thread with others.

mod array;
mod channels;
mod directory;
mod element;
mod error;
mod file;
mod hard;
mod index;
mod request;
mod soft;
#[cfg(test)]
mod tests;
mod tokens;
mod transfer;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::service::{Answer, Answers, Object, Service, unknown_type};

use channels::Channels;
use directory::Directory;
use error::StoreError;
use hard::{HardMemories, NewMemory};
use request::{Refused, channel, limit, messages, number, tag, text, wanted};
use soft::SoftMemory;

/// How many messages are read without a thread for it.
///
/// Limit: more messages are read on a blocking thread.
const AT_ONCE_MESSAGES: usize = 1000;

/// How many frames are made ahead of what the caller has taken.
///
/// Limit: `mem` waits for the reader.
const FRAMES_AHEAD: usize = 4;

/// A larger soft memory, note or list of channels is not read.
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

    /// Closes files whose end a killed process left open. Each would be mended when it is first asked
    /// for; this is for the original, which cannot. Blocks.
    pub fn mend(&self) -> Mended {
        self.mend_while(&|| true)
    }

    /// What [`Self::mend`] would mend; nothing is changed. Blocks.
    pub fn torn(&self) -> Mended {
        self.0.each_file(&|| true, |path, _| file::is_torn(path))
    }

    fn mend_while(&self, goes_on: &dyn Fn() -> bool) -> Mended {
        self.0.each_file(goes_on, file::mend_torn)
    }
}

/// Files that were cut off, and what could not be looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Mended {
    pub files: Vec<PathBuf>,
    pub errors: Vec<String>,
}

impl Service for MemoryService {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn prepare(&self, log: Log, stop: &CancellationToken) {
        let goes_on = || !stop.is_cancelled();
        let Mended { files, errors } = self.mend_while(&goes_on);
        for file in files {
            log.warning(format_args!("{} was cut off and is mended", file.display()));
        }
        for error in errors {
            log.error(format_args!("not mended: {error}"));
        }
        match self.0.hard.build_ahead(&goes_on) {
            Ok(()) | Err(StoreError::Stopped) => {}
            Err(error) => log.error(format_args!("the memories cannot be searched: {error}")),
        }
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            if let Some(answer) = store.answer_at_once(&request) {
                return answers.finish(answer).await;
            }
            // Frames pass through here: only what a service sends itself wakes a caller in the same
            // process.
            let (sink, mut frames) = mpsc::channel(FRAMES_AHEAD);
            let work = tokio::task::spawn_blocking(move || store.answer(&request, &sink));
            while let Some(frame) = frames.recv().await {
                if answers.send(frame).await.is_err() {
                    return;
                }
            }
            let answer = match work.await {
                Ok(Ok(answer)) => answer,
                Ok(Err(refused)) => Answer::error(refused.to_string()),
                Err(_) => Answer::error("the request could not be finished"),
            };
            answers.finish(answer).await;
        })
    }
}

impl Store {
    /// The files for which `concerns` holds.
    fn each_file(
        &self,
        goes_on: &dyn Fn() -> bool,
        concerns: impl Fn(&Path, &Directory) -> Result<bool, StoreError>,
    ) -> Mended {
        let mut mended = Mended::default();
        let channels = self.channels.paths().unwrap_or_else(|error| {
            mended.errors.push(error.to_string());
            Vec::new()
        });
        let hard = (self.hard.path().to_owned(), self.hard.directory());
        let files = channels
            .into_iter()
            .map(|path| (path, self.channels.directory()))
            .chain([hard]);
        for (path, directory) in files {
            if !goes_on() {
                break;
            }
            match concerns(&path, directory) {
                Ok(true) => mended.files.push(path),
                Ok(false) => {}
                Err(error) => mended.errors.push(error.to_string()),
            }
        }
        mended
    }

    /// The answer where it takes microseconds, less than waking a thread, and no waiting for anyone:
    /// everything else in the process would wait with it. Whatever is odd is not for here.
    fn answer_at_once(&self, request: &Object) -> Option<Answer> {
        let answer = match request.get("type").and_then(Value::as_str)? {
            "get_history" => {
                let limit = limit(request).ok()??;
                if limit > AT_ONCE_MESSAGES {
                    return None;
                }
                let history = self.channels.history_at_once(channel(request).ok()?, limit);
                json!({ "type": "history", "messages": history.ok()?? })
            }
            "append_history" => {
                let (channel, messages) = (channel(request).ok()?, messages(request).ok()?);
                match self.channels.append_at_once(channel, messages) {
                    Ok(true) => json!({ "type": "ok" }),
                    Ok(false) => return None,
                    Err(error) => return Some(Answer::error(error.to_string())),
                }
            }
            "search_hard" if self.hard.is_absent() => {
                text(request, "query").ok()?;
                wanted(request).ok()?;
                json!({ "type": "hard_memories", "results": [] })
            }
            _ => return None,
        };
        Some(Answer::message(answer))
    }

    /// The last frame of the answer; `answers` takes those before it.
    fn answer(&self, request: &Object, answers: &mpsc::Sender<Answer>) -> Result<Answer, Refused> {
        let answer = match request.get("type").and_then(Value::as_str) {
            Some("get_history") => {
                let history = self.channels.history(channel(request)?, limit(request)?)?;
                json!({ "type": "history", "messages": history })
            }
            Some("append_history") => {
                let channel = channel(request)?;
                self.channels.append(channel, messages(request)?)?;
                json!({ "type": "ok" })
            }
            Some("clear_history") => {
                self.channels.clear(channel(request)?)?;
                json!({ "type": "ok" })
            }
            Some("list_channels") => {
                let channels: Vec<_> = self
                    .channels
                    .list()?
                    .into_iter()
                    .map(|listed| json!({ "channel_id": listed.channel_id, "bytes": listed.bytes }))
                    .collect();
                json!({ "type": "channels", "channels": channels })
            }
            Some("search_hard") => {
                let query = text(request, "query")?;
                let results: Vec<_> = self
                    .hard
                    .search(query, wanted(request)?)?
                    .into_iter()
                    .map(|found| json!({ "messages": found.messages, "score": found.score }))
                    .collect();
                json!({ "type": "hard_memories", "results": results })
            }
            Some("store_hard") => {
                let tag = tag(request)?;
                let memory = NewMemory {
                    messages: messages(request)?,
                    tag: &tag,
                };
                json!({ "type": "ok", "id": self.hard.store(&[memory])? })
            }
            Some("delete_hard") => {
                self.hard.delete(number(request, "id")?)?;
                json!({ "type": "ok" })
            }
            Some("get_soft") => json!({ "type": "soft_memory", "content": self.soft.get()? }),
            Some("set_soft") => {
                self.soft.set(text(request, "content")?)?;
                json!({ "type": "ok" })
            }
            Some("export") => self.export(answers)?,
            Some("import") => self.import(request, answers)?,
            _ => return Ok(unknown_type(request)),
        };
        Ok(Answer::message(answer))
    }
}
