//! The right of this worker to append to one session.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use zino_agent::{SessionLease, StoreError};
use zot_conversation::BoxFuture;

use super::renewal::RETRY_TIME;
use super::{Shared, lock, stopped};
use crate::metrics;
use crate::postgres::{Effort, Repeat, bytes, integer, seconds, text};

/// How long an append may take, with the time that the database is away.
///
/// Limit: the prompt fails with `store_unavailable`.
const SESSION_APPEND_TIME: Duration = Duration::from_secs(30);

/// How long releasing a session may take.
///
/// Limit: the session ends without waiting for it any longer.
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
    lost_reason: OnceLock<StoreError>,
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
            lost_reason: OnceLock::new(),
        })
    }

    /// When the lease counts as lost unless it is renewed.
    pub(super) fn deadline(&self) -> Instant {
        *lock(&self.renewed) + self.shared.times.lost
    }

    pub(super) fn renewed(&self, at: Instant) {
        let mut renewed = lock(&self.renewed);
        *renewed = at.max(*renewed);
    }

    /// Tells the session that its work has to end.
    pub(super) fn lose(&self, reason: StoreError) {
        if !self.is_released.load(Ordering::Relaxed) {
            let _ = self.lost_reason.set(reason);
            self.lost.cancel();
        }
    }

    async fn lost(&self) -> StoreError {
        self.lost.cancelled().await;
        self.lost_reason.get().cloned().unwrap_or(StoreError::Lost)
    }

    /// Ends the lease in the database. If that takes long, it goes on without the caller: a renewal that
    /// the database does later than it was sent would keep the session busy.
    pub(super) async fn end(self: &Arc<Self>) {
        self.is_released.store(true, Ordering::Relaxed);
        self.shared.forget(&self.holder);
        let lease = Arc::clone(self);
        let ended = self.shared.finish(async move {
            while !lease.is_ended().await {
                sleep(RETRY_TIME).await;
            }
        });
        let _ = timeout(SESSION_RELEASE_TIME, ended).await;
    }

    /// Tries to end the lease; returns whether it has ended.
    async fn is_ended(&self) -> bool {
        let effort = Effort {
            repeat: Repeat::Always,
            away: Duration::ZERO,
            limit: SESSION_RELEASE_TIME,
        };
        let parameters = [text(&self.key), text(&self.holder), integer(&self.fence)];
        let statement = "select zino_release_session($1, $2, $3)";
        let released = self.shared.lease_pool.query(statement, &parameters, effort);
        let Ok(rows) = released.await else {
            return false;
        };
        rows.first()
            .is_some_and(|row| row.try_get(0).unwrap_or(false))
    }

    async fn store(&self, position: u64, record: &[u8]) -> Result<(), StoreError> {
        let effort = Effort {
            repeat: Repeat::Named,
            away: SESSION_APPEND_TIME,
            limit: SESSION_APPEND_TIME,
        };
        let lease = self.shared.times.lease.as_secs_f64();
        let position = i64::try_from(position).unwrap_or(i64::MAX);
        let parameters = [
            text(&self.key),
            text(&self.holder),
            integer(&self.fence),
            integer(&position),
            bytes(&record),
            seconds(&lease),
        ];
        let statement =
            "select zino_append_session($1, $2, $3, $4, $5, make_interval(secs => $6))::text";
        let began = Instant::now();
        let stored = self.shared.query(statement, &parameters, effort);
        let stored = tokio::select! {
            biased;
            stored = stored => stored,
            // Another worker may have the session now: nothing must be reported as stored.
            reason = self.lost() => Err(reason),
        };
        match &stored {
            Ok(_) => self.renewed(began),
            Err(StoreError::Moved) => self.lose(StoreError::Moved),
            Err(_) => {}
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

    fn lost(&self) -> BoxFuture<'_, StoreError> {
        Box::pin(self.0.lost())
    }
}
