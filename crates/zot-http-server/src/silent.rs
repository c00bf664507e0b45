//! Connections that have not sent a request yet. Each takes a place that others may need, so when none
//! is left, the one that has been silent for longest is closed.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The silent connections of a listener, the oldest first.
#[derive(Debug, Clone, Default)]
pub struct Silent(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    tokens: BTreeMap<u64, CancellationToken>,
}

impl Silent {
    /// Counts a connection as silent until the guard is dropped.
    pub fn enter(&self) -> SilentGuard {
        self.enter_with(CancellationToken::new())
    }

    /// Like [`enter`](Self::enter), for a connection that waits for `token` to be cancelled.
    pub(crate) fn enter_with(&self, token: CancellationToken) -> SilentGuard {
        let mut waiting = self.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.tokens.insert(number, token.clone());
        drop(waiting);
        SilentGuard {
            all: self.clone(),
            number,
            token,
        }
    }

    /// Returns how many there are.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.lock().tokens.len()
    }

    /// Closes the connection that has been silent for longest. Returns `false` when there is none.
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

/// A silent connection.
#[derive(Debug)]
pub struct SilentGuard {
    all: Silent,
    number: u64,
    token: CancellationToken,
}

impl SilentGuard {
    /// Waits until its place is needed.
    pub async fn closed(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for SilentGuard {
    fn drop(&mut self) {
        self.all.lock().tokens.remove(&self.number);
    }
}
