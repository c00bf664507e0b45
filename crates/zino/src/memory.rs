//! `mem`: histories of channels, hard memories that are searched, one soft memory.

mod claims;
mod element;
mod error;
mod files;
mod index;
mod postgres;
mod stored;
mod tokens;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_wire::zino::memory::{Request, Response};
use zot_wire::zino::{ErrorCode, Response as _};

use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::postgres::TargetError;
use crate::service::{AnyService, HungUp, Responses, Service};

use files::FileStore;
use index::Wanted;
use postgres::PostgresStore;

pub use claims::ClaimsService;
pub use error::StoreError;
pub use files::TornFiles;
pub use postgres::{Contents, Database, Present, SessionEntry};

/// How many frames wait for the caller.
///
/// Limit: `mem` waits for the reader.
const FRAMES_AHEAD: usize = 4;

/// How many messages are read without a blocking thread.
///
/// Limit: more messages are read on a blocking thread.
const MAX_INLINE_MESSAGES: usize = 1000;

/// How often old claims are removed.
const CLAIM_REMOVAL_INTERVAL: Duration = Duration::from_secs(60 * 60);

/// How many memories a search finds unless the request says otherwise.
const DEFAULT_TOP_K: i64 = 3;

/// Serves one store.
pub struct MemoryService(Store);

/// Where memory is stored.
enum Store {
    Files(Arc<FileStore>),
    Postgres(PostgresStore),
}

impl MemoryService {
    /// Opens the database that is configured, or else the directory; neither is touched yet.
    pub fn new(config: &Config) -> Result<Self, TargetError> {
        Ok(Self(match config.store_url() {
            Some(url) => Store::Postgres(PostgresStore::new(config, &url)?),
            None => Store::Files(Arc::new(FileStore::new(&config.mem.data_dir))),
        }))
    }
}

/// Repairs files whose end a killed process cut off. The service repairs them on first use anyway; the
/// original cannot. Blocks.
pub fn repair_files(config: &Config) -> TornFiles {
    FileStore::new(&config.mem.data_dir).repair_while(&|| true)
}

/// Finds what [`repair_files`] would repair, without changing anything. Blocks.
pub fn find_torn_files(config: &Config) -> TornFiles {
    FileStore::new(&config.mem.data_dir).find_torn()
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
enum RequestError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    HungUp(#[from] HungUp),
}

impl RequestError {
    fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Store(error) => error.code(),
            Self::HungUp(_) => None,
        }
    }
}

impl Service for MemoryService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn prepare(&self, log: Log, stop: &CancellationToken) {
        match &self.0 {
            Store::Files(store) => prepare_files(store, log, stop),
            Store::Postgres(store) => {
                // This is a thread for blocking work.
                if let Ok(runtime) = tokio::runtime::Handle::try_current() {
                    runtime.block_on(serve_database(store, log, stop));
                }
            }
        }
    }

    fn check(&self) -> BoxFuture<'_, Result<(), String>> {
        match &self.0 {
            Store::Files(_) => Box::pin(std::future::ready(Ok(()))),
            Store::Postgres(store) => Box::pin(async move {
                let reached = store.reach().await;
                reached.map_err(|error| error.to_string())
            }),
        }
    }

    fn also_on_bus(self: Arc<Self>) -> Option<(&'static str, Arc<dyn AnyService>)> {
        Some((ClaimsService::NAME, Arc::new(ClaimsService::new(self))))
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        match &self.0 {
            Store::Files(store) => {
                let store = Arc::clone(store);
                Box::pin(async move { respond_from_files(store, request, &responses).await })
            }
            Store::Postgres(store) => Box::pin(async move {
                let response = store.respond(request, &responses).await;
                responses.finish(last_frame(response)).await;
            }),
        }
    }
}

fn prepare_files(store: &FileStore, log: Log, stop: &CancellationToken) {
    let keep_going = || !stop.is_cancelled();
    let TornFiles { files, errors } = store.repair_while(&keep_going);
    for file in files {
        log.warning(format_args!(
            "{} was cut off and has been repaired",
            file.display()
        ));
    }
    for error in errors {
        log.error(format_args!("not repaired: {error}"));
    }
    match store.build_ahead(&keep_going) {
        Ok(()) | Err(StoreError::Stopped) => {}
        Err(error) => log.error(format_args!("the memories cannot be searched: {error}")),
    }
}

/// Builds the index before the first search, and releases all channels at the end.
async fn serve_database(store: &PostgresStore, log: Log, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        built = store.build_ahead() => if let Err(error) = built {
            log.error(format_args!("the store cannot be used: {error}"));
        },
    }
    remove_old_claims(store, log, stop).await;
    store.end_holds().await;
}

/// Removes old claims at once and then every hour, until `stop` fires.
async fn remove_old_claims(store: &PostgresStore, log: Log, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        let removed = async {
            if let Err(error) = store.remove_old_claims().await {
                log.warning(format_args!("old claims are not removed: {error}"));
            }
            sleep(CLAIM_REMOVAL_INTERVAL).await;
        };
        tokio::select! {
            () = stop.cancelled() => {}
            () = removed => {}
        }
    }
}

async fn respond_from_files(
    store: Arc<FileStore>,
    request: Request,
    responses: &Responses<Response>,
) {
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
        Ok(response) => last_frame(response),
        Err(_) => Response::error("the request could not be finished"),
    };
    responses.finish(response).await;
}

fn last_frame(response: Result<Response, RequestError>) -> Response {
    match response {
        Ok(response) => response,
        Err(error) => match error.code() {
            Some(code) => Response::error_with_code(code, error.to_string()),
            None => Response::error(error.to_string()),
        },
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
