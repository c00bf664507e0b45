//! Holds on channels: a lease in the database, renewed while the caller's request lasts.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use zot_wire::zino::memory::Response;

use super::PostgresStore;
use super::channels::{FIRST_BUSY_PAUSE, LONGEST_BUSY_PAUSE, key};
use crate::memory::RequestError;
use crate::memory::error::StoreError;
use crate::metrics;
use crate::postgres::{
    Effort, Efforts, Parameter, Pool, Refusal, Repeat, escaped, integer, seconds, text,
};
use crate::service::Responses;
use crate::unique_name::unique_name;

/// How long a channel stays with an owner that has stopped renewing.
///
/// Limit: the channel can be taken over.
const LEASE_TIME: Duration = Duration::from_secs(10);

/// How often a lease is renewed.
///
/// Limit: the lease is renewed.
const LEASE_RENEWAL_TIME: Duration = Duration::from_secs(3);

/// How soon renewing is tried again while the database is away.
const RETRY_TIME: Duration = Duration::from_millis(500);

/// How long a hold waits for another owner: longer than the lease of one that is dead.
///
/// Limit: the hold gets `channel_busy`.
const HELD_CHANNEL_WAIT: Duration = Duration::from_secs(15);

/// How long renewing or ending a lease may take.
///
/// Limit: renewing a lease is tried again.
const LEASE_STATEMENT_TIME: Duration = Duration::from_millis(2500);

/// How long holds may take to end with the service: longer than requests may go on.
///
/// Limit: the service ends; the channels are free when their leases expire.
const HOLDS_ENDING_TIME: Duration = Duration::from_secs(7);

/// How often it is checked whether all holds have ended.
const ENDING_POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The times of holds, which tests shorten.
#[derive(Debug, Clone, Copy)]
pub(super) struct HoldTimes {
    pub(super) lease: Duration,
    pub(super) renewal: Duration,
    pub(super) wait: Duration,
}

impl Default for HoldTimes {
    fn default() -> Self {
        Self {
            lease: LEASE_TIME,
            renewal: LEASE_RENEWAL_TIME,
            wait: HELD_CHANNEL_WAIT,
        }
    }
}

/// What became of a hold: its fence, then perhaps why it ended.
type News = Result<i64, StoreError>;

impl PostgresStore {
    /// Holds the channel until this future is dropped. Returns only when that is not possible any more.
    pub(super) async fn hold(
        &self,
        channel: String,
        owner: String,
        fence: Option<i64>,
        responses: &Responses<Response>,
    ) -> Result<Response, RequestError> {
        let (sender, mut news) = mpsc::channel(2);
        let hung_up = CancellationToken::new();
        // The task outlives this future: it has to release the channel.
        let _guard = hung_up.clone().drop_guard();
        let lease = Lease {
            pool: Arc::clone(&self.pool),
            efforts: self.efforts,
            times: self.times,
            key: key(&channel)?.into_owned(),
            channel,
            owner: escaped(&owner).into_owned(),
            holder: unique_name(),
        };
        self.start(async move { lease.keep(fence, sender, hung_up).await });
        let fence = news.recv().await.ok_or(StoreError::Stopped)??;
        responses
            .send(Response::Held { fence: Some(fence) })
            .await?;
        match news.recv().await {
            Some(Err(error)) => Err(error.into()),
            Some(Ok(_)) | None => Err(StoreError::Stopped.into()),
        }
    }

    fn start(&self, hold: impl Future<Output = ()> + Send + 'static) {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        while holds.try_join_next().is_some() {}
        holds.spawn(hold);
    }

    /// Waits until all channels are released; their callers have hung up.
    pub(in crate::memory) async fn end_holds(&self) {
        let deadline = Instant::now() + HOLDS_ENDING_TIME;
        while self.has_holds() && Instant::now() < deadline {
            sleep(ENDING_POLL_INTERVAL).await;
        }
    }

    fn has_holds(&self) -> bool {
        let mut holds = self.holds.lock().unwrap_or_else(PoisonError::into_inner);
        while holds.try_join_next().is_some() {}
        !holds.is_empty()
    }
}

/// A lease that one request keeps.
struct Lease {
    pool: Arc<Pool>,
    efforts: Efforts,
    times: HoldTimes,
    channel: String,
    key: String,
    owner: String,
    /// Distinguishes this request from another one of the same owner.
    holder: String,
}

impl Lease {
    /// Takes the channel, keeps it until the caller hangs up, and releases it.
    async fn keep(self, fence: Option<i64>, news: mpsc::Sender<News>, hung_up: CancellationToken) {
        let fence = match self.take_when_free(fence, &hung_up).await {
            Ok(fence) => fence,
            Err(refusal) => {
                let _ = news
                    .send(Err(StoreError::of_refusal(refusal, &self.channel)))
                    .await;
                return;
            }
        };
        let _ = news.send(Ok(fence)).await;
        match self.renew_until(fence, &hung_up).await {
            Ok(()) => self.release(fence).await,
            Err(refusal) => {
                let _ = news
                    .send(Err(StoreError::of_refusal(refusal, &self.channel)))
                    .await;
            }
        }
    }

    /// Renews the lease until the caller hangs up, or until it is lost.
    async fn renew_until(&self, fence: i64, hung_up: &CancellationToken) -> Result<(), Refusal> {
        let mut was_away = false;
        loop {
            let pause = match was_away {
                true => RETRY_TIME,
                false => self.times.renewal,
            };
            tokio::select! {
                () = hung_up.cancelled() => return Ok(()),
                () = sleep(pause) => {}
            }
            let renewed = match self.renew(fence).await {
                // A request of the same owner that arrived late may have taken and released it.
                Err(Refusal::Moved) => self.take(Some(fence)).await.map(drop),
                renewed => renewed,
            };
            was_away = match renewed {
                Ok(()) => false,
                Err(Refusal::Unavailable(_)) => true,
                Err(refusal) => return Err(refusal),
            };
        }
    }

    /// Takes the channel, waiting for another owner. No attempt is abandoned: it might succeed later.
    async fn take_when_free(
        &self,
        fence: Option<i64>,
        hung_up: &CancellationToken,
    ) -> Result<i64, Refusal> {
        let deadline = Instant::now() + self.times.wait;
        let mut pause = FIRST_BUSY_PAUSE;
        loop {
            if hung_up.is_cancelled() {
                return Err(Refusal::Busy);
            }
            match self.take(fence).await {
                Err(Refusal::Busy) if Instant::now() + pause < deadline => {}
                result => return result,
            }
            tokio::select! {
                () = hung_up.cancelled() => return Err(Refusal::Busy),
                () = sleep(pause) => {}
            }
            pause = LONGEST_BUSY_PAUSE.min(pause * 2);
        }
    }

    async fn take(&self, fence: Option<i64>) -> Result<i64, Refusal> {
        let lease = self.times.lease.as_secs_f64();
        let statement = "with expired as (
                select from zino_channel
                where id = $1 and owner <> $2 and lease_until <= clock_timestamp()
            )
            select zino_take($1, $2, $3, $4, make_interval(secs => $5)),
                exists (select from expired)";
        let parameters = self.parameters(&fence, &lease);
        let effort = self.efforts.read();
        let rows = self.pool.query(statement, &parameters, effort).await?;
        let taken = rows.first().map(|row| {
            let taken: (i64, bool) = (row.try_get(0)?, row.try_get(1)?);
            Ok(taken)
        });
        let taken: Result<_, tokio_postgres::Error> = taken.transpose();
        let taken = taken.map_err(|error| Refusal::Unavailable(self.pool.unavailable(error)))?;
        let (fence, is_takeover) = taken.unwrap_or_default();
        if is_takeover {
            metrics::LEASE_TAKEOVERS.add_one();
        }
        Ok(fence)
    }

    async fn renew(&self, fence: i64) -> Result<(), Refusal> {
        let lease = self.times.lease.as_secs_f64();
        let statement = "select zino_renew($1, $2, $3, $4, make_interval(secs => $5))::text";
        let fence = Some(fence);
        let parameters = self.parameters(&fence, &lease);
        let effort = once(Duration::ZERO);
        self.pool.query(statement, &parameters, effort).await?;
        Ok(())
    }

    async fn release(&self, fence: i64) {
        let statement = "select zino_release($1, $2, $3, $4)::text";
        let fence = Some(fence);
        let [held @ .., _] = self.parameters(&fence, &0.0);
        // If it fails, the lease expires.
        let effort = once(LEASE_STATEMENT_TIME);
        let _ = self.pool.query(statement, &held, effort).await;
    }

    /// What names the lease, and how long it lasts.
    fn parameters<'a>(&'a self, fence: &'a Option<i64>, lease: &'a f64) -> [Parameter<'a>; 5] {
        [
            text(&self.key),
            text(&self.owner),
            integer(fence),
            text(&self.holder),
            seconds(lease),
        ]
    }
}

fn once(away: Duration) -> Effort {
    Effort {
        repeat: Repeat::Always,
        away,
        limit: LEASE_STATEMENT_TIME,
    }
}
