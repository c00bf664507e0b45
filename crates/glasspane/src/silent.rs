//! Connections that have not said yet what they want. They cost a place that others may need, so
//! when there is no other left, the one that has been silent for longest is closed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// The silent connections of a listener, the oldest first.
#[derive(Debug, Clone, Default)]
pub(crate) struct Silent(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    next: u64,
    tokens: BTreeMap<u64, CancellationToken>,
}

impl Silent {
    /// Counts a connection as silent until what is returned is dropped.
    pub(crate) fn enter(&self) -> SilentGuard {
        let token = CancellationToken::new();
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

    pub(crate) fn len(&self) -> usize {
        self.lock().tokens.len()
    }

    /// Tells the connection that has been silent for longest to end. `false` when there is none.
    pub(crate) fn close_oldest(&self) -> bool {
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
pub(crate) struct SilentGuard {
    all: Silent,
    number: u64,
    token: CancellationToken,
}

impl SilentGuard {
    /// It has said something. All the others.
    pub(crate) fn into_others(self) -> Silent {
        self.all.clone()
    }

    /// Waits until its place is needed.
    pub(crate) async fn closed(&self) {
        self.token.cancelled().await;
    }
}

impl Drop for SilentGuard {
    fn drop(&mut self) {
        self.all.lock().tokens.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::Silent;

    #[test]
    fn the_oldest_goes_first_and_who_speaks_is_left_alone() {
        let silent = Silent::default();
        let (first, second, third) = (silent.enter(), silent.enter(), silent.enter());
        drop(first);
        assert_eq!(silent.len(), 2);
        assert!(silent.close_oldest());
        assert!(second.token.is_cancelled());
        assert!(!third.token.is_cancelled());
        assert!(silent.close_oldest());
        assert!(!silent.close_oldest());
    }
}
