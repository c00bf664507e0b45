//! Renews all leases of a worker with one statement.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_postgres::{Error as PostgresError, Row};
use zino_agent::StoreError;

use super::lease::Lease;
use super::{Shared, refused};
use crate::postgres::{Effort, Repeat, integers, seconds, texts};

/// How soon renewing and releasing are tried again while the database is away or a row is locked.
pub(super) const RETRY_TIME: Duration = Duration::from_millis(500);

/// How long renewing the leases may take.
///
/// Limit: renewing the leases is tried again.
const SESSION_RENEWAL_STATEMENT_TIME: Duration = Duration::from_secs(2);

/// Renews leases as long as the store exists.
pub(super) async fn renew(shared: Weak<Shared>) {
    loop {
        let next = match shared.upgrade() {
            Some(shared) => shared.renew_all().await,
            None => return,
        };
        sleep_until(next).await;
    }
}

impl Shared {
    /// Renews what is held; returns when to do so again.
    async fn renew_all(&self) -> Instant {
        let held = self.held();
        let began = Instant::now();
        let renewed = match earliest(&held) {
            // No lease may outlast its deadline because the database does not answer.
            Some(deadline) => {
                let renewed = timeout_at(deadline, self.renew(&held)).await;
                renewed.unwrap_or(None)
            }
            None => Some(HashMap::new()),
        };
        for lease in &held {
            match &renewed {
                Some(kept) => match kept.get(&lease.holder) {
                    Some(Kept::Renewed) => lease.renewed(began),
                    Some(Kept::Locked) => self.lose_expired(lease),
                    None => self.lose(lease, StoreError::Moved),
                },
                None => self.lose_expired(lease),
            }
        }
        let is_complete = |kept: HashMap<_, _>| kept.values().all(|kept| *kept == Kept::Renewed);
        let pause = match renewed.is_some_and(is_complete) {
            true => self.times.renewal,
            false => RETRY_TIME.min(self.times.renewal),
        };
        let next = Instant::now() + pause;
        earliest(&self.held()).map_or(next, |deadline| deadline.min(next))
    }

    fn lose_expired(&self, lease: &Lease) {
        if lease.deadline() <= Instant::now() {
            self.lose(lease, StoreError::Lost);
        }
    }

    fn lose(&self, lease: &Lease, reason: StoreError) {
        self.forget(&lease.holder);
        lease.lose(reason);
    }

    /// Returns the holders that still have their session; `None` when the database did not say.
    async fn renew(&self, held: &[Arc<Lease>]) -> Option<HashMap<String, Kept>> {
        let column = |value: fn(&Lease) -> &str| held.iter().map(|lease| value(lease)).collect();
        let keys: Vec<&str> = column(|lease| &lease.key);
        let holders: Vec<&str> = column(|lease| &lease.holder);
        let fences: Vec<i64> = held.iter().map(|lease| lease.fence).collect();
        let lease = self.times.lease.as_secs_f64();
        let parameters = [
            texts(&keys),
            texts(&holders),
            integers(&fences),
            seconds(&lease),
        ];
        let statement = "select kept_holder, is_renewed
            from zino_renew_sessions($1, $2, $3, make_interval(secs => $4))";
        let effort = Effort {
            repeat: Repeat::Always,
            away: Duration::ZERO,
            limit: SESSION_RENEWAL_STATEMENT_TIME,
        };
        let rows = match self.lease_pool.query(statement, &parameters, effort).await {
            Ok(rows) => rows,
            Err(refusal) => {
                let error = refused(refusal);
                self.log
                    .warning(format_args!("leases are not renewed: {error}"));
                return None;
            }
        };
        rows.iter().map(kept).collect::<Result<_, _>>().ok()
    }
}

/// What became of a lease that is still held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Renewed,
    /// Somebody has locked the row of the session.
    Locked,
}

fn kept(row: &Row) -> Result<(String, Kept), PostgresError> {
    let kept = match row.try_get(1)? {
        true => Kept::Renewed,
        false => Kept::Locked,
    };
    Ok((row.try_get(0)?, kept))
}

fn earliest(held: &[Arc<Lease>]) -> Option<Instant> {
    held.iter().map(|lease| lease.deadline()).min()
}
