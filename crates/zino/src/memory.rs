//! `mem`: histories of channels, hard memories that are searched, one soft memory.

mod element;
mod error;
mod files;
mod index;
mod tokens;

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_wire::zino::Response as _;
use zot_wire::zino::memory::{Request, Response};

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::service::{HungUp, Responses, Service};

use error::StoreError;
use files::FileStore;
use index::Wanted;

pub use files::TornFiles;

/// How many frames wait for the caller.
///
/// Limit: `mem` waits for the reader.
const FRAMES_AHEAD: usize = 4;

/// How many memories a search finds unless the request says otherwise.
const DEFAULT_TOP_K: i64 = 3;

/// Serves one store.
pub struct MemoryService(Arc<FileStore>);

impl MemoryService {
    pub fn new(config: &Config) -> Self {
        Self(Arc::new(FileStore::new(&config.mem.data_dir)))
    }

    /// Repairs files whose end a killed process cut off. This service repairs them on first use anyway;
    /// the original cannot. Blocks.
    pub fn repair(&self) -> TornFiles {
        self.0.repair_while(&|| true)
    }

    /// Finds what [`Self::repair`] would repair, without changing anything. Blocks.
    pub fn find_torn(&self) -> TornFiles {
        self.0.find_torn()
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

impl Service for MemoryService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn prepare(&self, log: Log, stop: &CancellationToken) {
        let keep_going = || !stop.is_cancelled();
        let TornFiles { files, errors } = self.0.repair_while(&keep_going);
        for file in files {
            log.warning(format_args!(
                "{} was cut off and has been repaired",
                file.display()
            ));
        }
        for error in errors {
            log.error(format_args!("not repaired: {error}"));
        }
        match self.0.build_ahead(&keep_going) {
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
            // On a blocking thread, since the services share one thread. Frames are forwarded here: a caller in the same process is woken only by what the service
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

/// How many of the best matches are requested.
fn wanted(top_k: Option<i64>) -> Wanted {
    let count = top_k.unwrap_or(DEFAULT_TOP_K);
    let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    match count < 0 {
        true => Wanted::AllBut(magnitude),
        false => Wanted::Best(magnitude),
    }
}

/// How many messages of a history are requested; `None` for all.
fn history_limit(limit: Option<i64>) -> Option<usize> {
    let limit = usize::try_from(limit.unwrap_or(0)).ok();
    limit.filter(|&limit| limit > 0)
}
