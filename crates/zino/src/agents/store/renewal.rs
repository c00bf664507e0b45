//! Renews all leases of a worker with one statement.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::lease::Lease;
use super::{Shared, refused};
use crate::postgres::{Effort, Repeat, integers, seconds, texts};

/// How soon renewing is tried again while the database is away.
const RETRY_TIME: Duration = Duration::from_millis(500);

/// How long renewing the leases may take.
///
/// Limit: renewing the leases is tried again.
const SESSION_RENEWAL_STATEMENT_TIME: Duration = Duration::from_millis(2500);

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
            None => Some(Vec::new()),
        };
        for lease in &held {
            match &renewed {
                Some(holders) if holders.contains(&lease.holder) => lease.renewed(began),
                Some(_) => self.lose(lease),
                None if lease.deadline() <= Instant::now() => self.lose(lease),
                None => {}
            }
        }
        let pause = match renewed {
            Some(_) => self.times.renewal,
            None => RETRY_TIME.min(self.times.renewal),
        };
        let next = Instant::now() + pause;
        earliest(&self.held()).map_or(next, |deadline| deadline.min(next))
    }

    fn lose(&self, lease: &Lease) {
        self.forget(&lease.holder);
        lease.lose();
    }

    /// Returns the holders that still have their session; `None` when the database did not say.
    async fn renew(&self, held: &[Arc<Lease>]) -> Option<Vec<String>> {
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
        let statement = "select zino_renew_sessions($1, $2, $3, make_interval(secs => $4))";
        let effort = Effort {
            repeat: Repeat::Always,
            away: Duration::ZERO,
            limit: SESSION_RENEWAL_STATEMENT_TIME,
        };
        let rows = match self.pool.query(statement, &parameters, effort).await {
            Ok(rows) => rows,
            Err(refusal) => {
                let error = refused(refusal);
                self.log
                    .warning(format_args!("leases are not renewed: {error}"));
                return None;
            }
        };
        let holders = rows.iter().map(|row| row.try_get(0));
        holders.collect::<Result<_, _>>().ok()
    }
}

fn earliest(held: &[Arc<Lease>]) -> Option<Instant> {
    held.iter().map(|lease| lease.deadline()).min()
}
