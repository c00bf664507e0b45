//! The right of this worker to append to one session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use zino_agent::{SessionLease, StoreError};
use zot_conversation::BoxFuture;

use super::{Shared, lock, stopped};
use crate::metrics;
use crate::postgres::{Effort, Repeat, bytes, integer, text};

/// How long an append may take, with the time that the database is away.
///
/// Limit: the prompt fails with `store_unavailable`.
const SESSION_APPEND_TIME: Duration = Duration::from_secs(30);

/// How long releasing a session may take.
///
/// Limit: the session is free when its lease expires.
const SESSION_RELEASE_TIME: Duration = Duration::from_millis(2500);

/// A lease on one session.
pub(super) struct Lease {
    shared: Arc<Shared>,
    pub(super) key: String,
    /// Distinguishes this opening of the session from all others.
    pub(super) holder: String,
    pub(super) fence: i64,
    /// When the last statement that extended the lease began.
    renewed: Mutex<Instant>,
    is_released: AtomicBool,
    lost: CancellationToken,
}

impl Lease {
    pub(super) fn new(
        shared: Arc<Shared>,
        key: String,
        holder: String,
        fence: i64,
        taken: Instant,
    ) -> Arc<Self> {
        Arc::new(Self {
            shared,
            key,
            holder,
            fence,
            renewed: Mutex::new(taken),
            is_released: AtomicBool::new(false),
            lost: CancellationToken::new(),
        })
    }

    /// When the lease counts as lost unless it is renewed.
    pub(super) fn deadline(&self) -> Instant {
        *lock(&self.renewed) + self.shared.times.lost
    }

    pub(super) fn renewed(&self, at: Instant) {
        *lock(&self.renewed) = at;
    }

    /// Tells the session that its work has to end.
    pub(super) fn lose(&self) {
        if !self.is_released.load(Ordering::Relaxed) {
            self.lost.cancel();
        }
    }

    /// Ends the lease in the database. If that fails, it expires.
    pub(super) async fn end(&self) {
        self.is_released.store(true, Ordering::Relaxed);
        self.shared.forget(&self.holder);
        let effort = Effort {
            repeat: Repeat::Always,
            away: SESSION_RELEASE_TIME,
            limit: SESSION_RELEASE_TIME,
        };
        let parameters = [text(&self.key), text(&self.holder), integer(&self.fence)];
        let statement = "select zino_release_session($1, $2, $3)::text";
        let _ = self.shared.query(statement, &parameters, effort).await;
    }

    async fn store(&self, position: u64, record: &[u8]) -> Result<(), StoreError> {
        let effort = Effort {
            repeat: Repeat::Named,
            away: SESSION_APPEND_TIME,
            limit: SESSION_APPEND_TIME,
        };
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let parameters = [
            text(&self.key),
            text(&self.holder),
            integer(&self.fence),
            integer(&position),
            bytes(&record),
        ];
        let statement = "select zino_append_session($1, $2, $3, $4, $5)::text";
        let began = Instant::now();
        let stored = self.shared.query(statement, &parameters, effort);
        let stored = tokio::select! {
            biased;
            stored = stored => stored,
            // Another worker may have the session now: nothing must be reported as stored.
            () = self.lost.cancelled() => Err(StoreError::Moved),
        };
        if matches!(stored, Err(StoreError::Moved)) {
            self.lose();
        }
        metrics::APPEND_SECONDS.record(began.elapsed());
        stored.map(drop)
    }
}

impl Shared {
    /// Does `work` on the runtime of the store, to its end even if nobody waits for it any more.
    fn finish<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> oneshot::Receiver<T> {
        let (sender, done) = oneshot::channel();
        self.start(async move {
            let _ = sender.send(work.await);
        });
        done
    }
}

/// A lease as the session has it. Without one, the lease is not renewed any more.
pub(super) struct Held(pub(super) Arc<Lease>);

impl SessionLease for Held {
    fn append(&self, position: u64, record: Bytes) -> BoxFuture<'_, Result<(), StoreError>> {
        if record.is_empty() {
            return Box::pin(async { Ok(()) });
        }
        let lease = Arc::clone(&self.0);
        let done = self
            .0
            .shared
            .finish(async move { lease.store(position, &record).await });
        Box::pin(async move { done.await.unwrap_or_else(|_| Err(stopped())) })
    }

    fn release(&self) -> BoxFuture<'_, ()> {
        let lease = Arc::clone(&self.0);
        let done = self.0.shared.finish(async move { lease.end().await });
        Box::pin(async move {
            let _ = done.await;
        })
    }

    fn lost(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.lost.cancelled())
    }
}
