//! A worker: the sessions of one profile in this process.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use zot_files::{Scratch, ScratchDirectory};
use zot_rpc::Stop;
use zot_sdk::Config;

use crate::session::{Session, SessionFiles, SessionParts, begin};
use crate::store::{Opening, SessionStore, StoreError, TakenSession};

/// The longest session id that is looked up.
///
/// Limit: there is no session with a longer id.
const LONGEST_SESSION_ID: usize = 64;

/// What a worker runs.
pub struct WorkerOptions {
    /// The name of the profile, by which the store keeps sessions apart.
    pub profile: String,
    /// The configuration of every session, except where its records go.
    pub config: Config,
    /// How many sessions run at a time.
    pub max_sessions: usize,
}

/// Why a session was not opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("session {session} is in use by {owner}: only one client can be attached to it")]
    Busy { session: String, owner: String },
    #[error("there is no session {session} in profile {profile}")]
    NoSession { session: String, profile: String },
    #[error("this worker runs {0} sessions, and no more at a time")]
    Full(usize),
    #[error("this worker is about to end")]
    Draining,
    #[error("the store is unavailable: {0}")]
    StoreUnavailable(String),
    /// The session cannot run here, for example because there is no key for its provider.
    #[error("{0}")]
    Failed(String),
}

impl OpenError {
    /// Returns the code that clients decide by.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Busy { .. } => "session_busy",
            Self::NoSession { .. } => "no_session",
            Self::Full(_) => "full",
            Self::Draining => "draining",
            Self::StoreUnavailable(_) => "store_unavailable",
            Self::Failed(_) => "failed",
        }
    }
}

/// Runs the sessions of one profile. Clones run the same sessions.
#[derive(Clone)]
pub struct Worker(Arc<Shared>);

struct Shared {
    options: WorkerOptions,
    store: Arc<dyn SessionStore>,
    files: ScratchDirectory,
    state: Mutex<State>,
    /// A session has ended.
    closed: Notify,
}

#[derive(Default)]
struct State {
    /// How to end the sessions that are open.
    open: HashMap<String, Stop>,
    /// What runs beside the sessions' threads.
    tasks: JoinSet<()>,
    is_draining: bool,
}

impl Worker {
    pub fn new(options: WorkerOptions, store: Arc<dyn SessionStore>) -> io::Result<Self> {
        zot_files::sweep_scratch();
        Ok(Self(Arc::new(Shared {
            options,
            store,
            files: ScratchDirectory::new(Scratch::Sessions)?,
            state: Mutex::default(),
            closed: Notify::new(),
        })))
    }

    /// Returns how many sessions are open.
    pub fn sessions(&self) -> usize {
        self.state().open.len()
    }

    /// Opens a new session, or the one called `wanted`. It ends when its pipes are dropped.
    pub async fn open(&self, wanted: Option<&str>) -> Result<Session, OpenError> {
        let (id, opening) = match wanted {
            None => (zot_session::random_id(), Opening::New),
            Some(id) => (id.to_owned(), Opening::Existing),
        };
        if !is_session_id(&id) {
            return Err(self.refusal(id, StoreError::NoSession));
        }
        let (reservation, stop) = self.reserve(&id)?;
        let Shared { options, store, .. } = &*self.0;
        let taken = store.take(&id, &options.profile, opening).await;
        let TakenSession { records, lease } = match taken {
            Ok(taken) => taken,
            Err(error) => return Err(self.refusal(id, error)),
        };
        let parts = match SessionFiles::write(self.0.files.path(), &id, &records) {
            Ok(files) => SessionParts {
                id,
                config: options.config.clone(),
                is_resumed: !records.is_empty(),
                files,
                stop,
            },
            Err(error) => {
                lease.release().await;
                return Err(OpenError::Failed(format!(
                    "cannot write the session's file: {error}"
                )));
            }
        };
        drop(records);
        let (session, running) = begin(parts, lease).await.map_err(OpenError::Failed)?;
        let mut state = self.state();
        while state.tasks.try_join_next().is_some() {}
        state.tasks.spawn(async move {
            running.run().await;
            // Only now can another client open it.
            drop(reservation);
        });
        Ok(session)
    }

    /// Opens no further sessions, and ends each as soon as nothing runs in it.
    pub fn drain(&self) {
        let mut state = self.state();
        state.is_draining = true;
        state.open.values().for_each(Stop::when_idle);
    }

    /// Aborts what runs and ends all sessions.
    pub fn stop(&self) {
        let mut state = self.state();
        state.is_draining = true;
        state.open.values().for_each(Stop::now);
    }

    /// Waits until all sessions have ended and their leases are released. Cancel-safe.
    pub async fn closed(&self) {
        loop {
            let closed = self.0.closed.notified();
            if self.sessions() == 0 {
                return;
            }
            closed.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that a session is open only once: the store would let its own worker take it again.
    fn reserve(&self, id: &str) -> Result<(Reservation, Stop), OpenError> {
        let mut state = self.state();
        if state.is_draining {
            return Err(OpenError::Draining);
        }
        if state.open.contains_key(id) {
            return Err(OpenError::Busy {
                session: id.to_owned(),
                owner: "this worker".to_owned(),
            });
        }
        let most = self.0.options.max_sessions;
        if state.open.len() >= most {
            return Err(OpenError::Full(most));
        }
        let stop = Stop::default();
        state.open.insert(id.to_owned(), stop.clone());
        let reservation = Reservation {
            worker: self.clone(),
            id: id.to_owned(),
        };
        Ok((reservation, stop))
    }

    fn refusal(&self, session: String, error: StoreError) -> OpenError {
        match error {
            StoreError::Busy { owner } => OpenError::Busy { session, owner },
            StoreError::Moved | StoreError::Lost => OpenError::Busy {
                session,
                owner: "another worker".to_owned(),
            },
            StoreError::NoSession => OpenError::NoSession {
                session,
                profile: self.0.options.profile.clone(),
            },
            StoreError::Unavailable { reason } => OpenError::StoreUnavailable(reason),
        }
    }
}

/// The place of an open session among those of its worker.
struct Reservation {
    worker: Worker,
    id: String,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.worker.state().open.remove(&self.id);
        self.worker.0.closed.notify_waiters();
    }
}

/// Returns whether `id` can be the id of a session: it becomes a file name and part of a subject.
fn is_session_id(id: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= LONGEST_SESSION_ID && id.bytes().all(is_allowed)
}
