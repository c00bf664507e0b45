//! Connections that wait for the next request.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Uri;
use tokio::time::Instant;

use super::connection::Connection;

/// Idle connections are closed before the servers in front of most providers close them.
///
/// Limit: the connection is closed.
pub(super) const MAX_CONNECTION_IDLE_TIME: Duration = Duration::from_secs(60);

/// A service with many clients makes as many concurrent calls: if fewer connections were kept, most
/// calls would have to connect again, which takes longer than everything else they do.
///
/// Limit: the oldest idle connections are closed.
const MAX_IDLE_CONNECTIONS_PER_HOST: usize = 256;

/// What two requests must share to use one connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct PoolKey {
    scheme: String,
    authority: String,
}

impl PoolKey {
    pub(super) fn new(uri: &Uri) -> Self {
        Self {
            scheme: uri.scheme_str().unwrap_or_default().to_owned(),
            authority: uri
                .authority()
                .map_or_else(String::new, |authority| authority.as_str().to_owned()),
        }
    }
}

struct Idle {
    connection: Connection,
    since: Instant,
}

#[derive(Default)]
pub(super) struct Pool {
    /// Longest idle first.
    idle: Mutex<HashMap<PoolKey, VecDeque<Idle>>>,
}

impl Pool {
    /// Returns the most recently used connection that is still open, if it was used within `idle_time`.
    pub(super) fn take(&self, key: &PoolKey, idle_time: Duration) -> Option<Connection> {
        let mut idle = self.lock();
        let connections = idle.get_mut(key)?;
        let now = Instant::now();
        while connections
            .pop_front_if(|idle| now.duration_since(idle.since) >= MAX_CONNECTION_IDLE_TIME)
            .is_some()
        {}
        let recent = |idle: &mut Idle| now.duration_since(idle.since) < idle_time;
        while let Some(mut idle) = connections.pop_back_if(recent) {
            if !idle.connection.is_stale() {
                return Some(idle.connection);
            }
        }
        None
    }

    pub(super) fn put(&self, key: PoolKey, connection: Connection) {
        let mut idle = self.lock();
        let connections = idle.entry(key).or_default();
        if connections.len() == MAX_IDLE_CONNECTIONS_PER_HOST {
            connections.pop_front();
        }
        connections.push_back(Idle {
            connection,
            since: Instant::now(),
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PoolKey, VecDeque<Idle>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
