//! `mem`: histories of channels, hard memories that are searched, one soft memory.
//!
//! All of it is in the files of the original, which may be open to it at the same time. The work is
//! done on threads for blocking work: a service shares its thread with others.

mod array;
mod channels;
mod element;
mod error;
mod file;
mod folder;
mod hard;
mod index;
mod request;
mod soft;
#[cfg(test)]
mod tests;
mod tokens;
mod transfer;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use zot_conversation::BoxFuture;

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::service::{Answer, Answers, Object, Service, unknown_type};

use channels::Channels;
use folder::Folder;
use hard::{HardMemories, NewMemory};
use request::{Refused, channel, limit, messages, number, tag, text, wanted};
use soft::SoftMemory;

/// How many frames are made ahead of what the caller has taken.
const FRAMES_AHEAD: usize = 4;

/// Serves what is stored below one folder. Nothing is read before it is asked for.
pub struct MemoryService(Arc<Store>);

struct Store {
    channels: Channels,
    hard: HardMemories,
    soft: SoftMemory,
}

impl MemoryService {
    pub fn new(config: &Config) -> Self {
        let folder = &config.mem.data_dir;
        let root = Folder::new(folder.clone());
        Self(Arc::new(Store {
            channels: Channels::new(Folder::new(folder.join("channels"))),
            hard: HardMemories::new(root.clone()),
            soft: SoftMemory::new(root),
        }))
    }

    /// Closes files whose end a killed process left open; returns how many. Each would be mended when
    /// it is first asked for; this is for the original, which cannot. Blocks: for a thread at the
    /// start of a service.
    pub fn mend(&self) -> Result<usize, String> {
        let channels = self.0.channels.mend_all();
        let hard = self.0.hard.mend_torn();
        let mended = channels.and_then(|count| Ok(count + usize::from(hard?)));
        mended.map_err(|error| error.to_string())
    }
}

impl Service for MemoryService {
    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn prepare(&self, log: Log) {
        match self.mend() {
            Ok(0) => {}
            Ok(count) => log.warning(format_args!("{count} files were left open and are mended")),
            Err(error) => log.error(format_args!("files that were left open: {error}")),
        }
    }

    fn handle(&self, request: Object, answers: Answers) -> BoxFuture<'_, ()> {
        let store = Arc::clone(&self.0);
        Box::pin(async move {
            if store.is_quick(&request) {
                // It takes microseconds, less than waking a thread; it has one frame.
                let (sink, _frames) = mpsc::channel(FRAMES_AHEAD);
                let answer = store.answer(&request, &sink);
                let answer = answer.unwrap_or_else(|refused| Answer::error(refused.to_string()));
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
    /// Whether a request costs about as much as the bytes it has, whatever is stored.
    fn is_quick(&self, request: &Object) -> bool {
        match request.get("type").and_then(Value::as_str) {
            Some("get_history") if !matches!(limit(request), Ok(Some(_))) => false,
            Some("get_history" | "append_history") => request
                .get("channel_id")
                .and_then(Value::as_str)
                .is_some_and(|channel| self.channels.is_known(channel)),
            Some("search_hard") => self.hard.is_absent(),
            _ => false,
        }
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
                let memory = NewMemory {
                    messages: messages(request)?,
                    tag: tag(request)?,
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
