//! Sessions of legacy clients.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use zot_http_server::Body;
use zot_http_server::http::{HeaderMap, Response, StatusCode};
use zot_mcp::json_rpc::RequestId;

use super::access::single;
use super::headers::SESSION;
use super::stream::{failure, frame};
use super::token::random_hex;
use crate::connection::Connection;
use crate::frame::{INVALID_REQUEST, error, error_frame};
use crate::request::ClientAbilities;

/// How many legacy clients have a session.
///
/// Limit: the session that was idle longest ends; if none is idle, the next client gets status 503.
const MAX_CLIENT_SESSIONS: usize = 64;

/// How long a session may be idle.
///
/// Limit: its client gets status 404 and has to begin a new one.
const CLIENT_SESSION_TIME: Duration = Duration::from_secs(24 * 3600);

const SESSION_NAME_BYTES: usize = 16;

/// The sessions of all clients.
#[derive(Default)]
pub(super) struct Sessions(Mutex<HashMap<String, Arc<Session>>>);

/// What is known about one legacy client.
pub(super) struct Session {
    pub(super) abilities: ClientAbilities,
    pub(super) connection: Arc<Connection>,
    last_used: Mutex<Instant>,
}

/// No session is named, or the named one has ended.
pub(super) enum Missing {
    Header,
    Session,
}

/// There is no room for another session.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoSession {
    #[error("{MAX_CLIENT_SESSIONS} sessions are busy: try again later")]
    TooMany,
    #[error("cannot read random numbers: {0}")]
    Random(#[from] io::Error),
}

impl Sessions {
    pub(super) fn is_named(headers: &HeaderMap) -> bool {
        headers.contains_key(SESSION)
    }

    /// Begins a session and returns its name.
    pub(super) fn begin(&self, abilities: ClientAbilities) -> Result<String, NoSession> {
        let name = random_hex(SESSION_NAME_BYTES)?;
        let mut sessions = self.lock();
        sessions.retain(|_, session| {
            !session.connection.is_idle() || session.idle_since().elapsed() < CLIENT_SESSION_TIME
        });
        if sessions.len() >= MAX_CLIENT_SESSIONS {
            let idle = sessions
                .iter()
                .filter(|(_, session)| session.connection.is_idle());
            let oldest = idle.min_by_key(|(_, session)| session.idle_since());
            let oldest = oldest.map(|(name, _)| name.clone());
            sessions.remove(&oldest.ok_or(NoSession::TooMany)?);
        }
        let connection = Connection::default();
        connection.set_legacy(abilities);
        let session = Session {
            abilities,
            connection: Arc::new(connection),
            last_used: Mutex::new(Instant::now()),
        };
        sessions.insert(name.clone(), Arc::new(session));
        Ok(name)
    }

    pub(super) fn find(&self, headers: &HeaderMap) -> Result<Arc<Session>, Missing> {
        let name = single(headers, SESSION).ok_or(Missing::Header)?;
        let session = self.lock().get(name).cloned().ok_or(Missing::Session)?;
        session.touch();
        Ok(session)
    }

    /// Ends a session and cancels what runs in it.
    pub(super) fn end(&self, headers: &HeaderMap) -> Result<(), Missing> {
        let name = single(headers, SESSION).ok_or(Missing::Header)?;
        let session = self.lock().remove(name).ok_or(Missing::Session)?;
        session.close();
        Ok(())
    }

    pub(super) fn close_all(&self) {
        for (_, session) in self.lock().drain() {
            session.close();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn close(&self) {
        self.connection.close_questions();
        self.connection.cancel_all();
    }

    fn touch(&self) {
        *self.last_used() = Instant::now();
    }

    fn idle_since(&self) -> Instant {
        *self.last_used()
    }

    fn last_used(&self) -> MutexGuard<'_, Instant> {
        self.last_used
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Missing {
    pub(super) fn response(&self, id: Option<&RequestId>) -> Response<Body> {
        let (code, message) = match self {
            Self::Header => (
                StatusCode::BAD_REQUEST,
                "expected the Mcp-Session-Id of `initialize`",
            ),
            Self::Session => (
                StatusCode::NOT_FOUND,
                "the session has ended: send `initialize` for a new one",
            ),
        };
        match id {
            Some(id) => frame(
                code,
                &error_frame(Some(id), &error(INVALID_REQUEST, message)),
            ),
            None => failure(code, message),
        }
    }
}
