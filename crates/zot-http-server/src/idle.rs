//! Connections that have not sent a request yet. Each uses up one of a limited number, so when the
//! limit is reached, the one that has been idle longest is closed.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The idle connections of a listener, oldest first.
#[derive(Debug, Clone, Default)]
pub struct IdleConnections(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    tokens: BTreeMap<u64, CancellationToken>,
}

impl IdleConnections {
    /// Counts a connection as idle until the guard is dropped.
    pub fn insert(&self) -> IdleGuard {
        self.insert_with(CancellationToken::new())
    }

    /// Like [`insert`](Self::insert), but cancels `token` to close the connection.
    pub(crate) fn insert_with(&self, token: CancellationToken) -> IdleGuard {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.tokens.insert(number, token.clone());
        drop(waiting);
        IdleGuard {
            all: self.clone(),
            number,
            token,
        }
    }

    #[expect(clippy::len_without_is_empty, reason = "no caller needs it")]
    pub fn len(&self) -> usize {
        self.lock().tokens.len()
    }

    /// Closes the connection that has been idle longest. Returns `false` if there is none.
    pub fn close_oldest(&self) -> bool {
        match self.lock().tokens.pop_first() {
            Some((_, token)) => {
                token.cancel();
                true
            }
            None => false,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a connection counted as idle.
#[derive(Debug)]
pub struct IdleGuard {
    all: IdleConnections,
    number: u64,
    token: CancellationToken,
}

impl IdleGuard {
    /// Waits until the connection has to be closed.
    pub async fn closed(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for IdleGuard {
    fn drop(&mut self) {
        self.all.lock().tokens.remove(&self.number);
    }
}
