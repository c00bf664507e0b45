//! Sessions in PostgreSQL: the bytes of each session file, and who may append to them.

mod lease;
mod renewal;
#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_postgres::{Error as PostgresError, Row};
use zino_agent::{Opening, SessionStore, StoreError, TakenSession};
use zot_conversation::BoxFuture;
use zot_process::TERMINATION_GRACE;

use crate::config::{Config, StoreUrl};
use crate::logging::Log;
use crate::metrics;
use crate::postgres::{
    Effort, Efforts, Parameter, Pool, Refusal, Target, TargetError, boolean, escaped, integer,
    seconds, text,
};
use crate::unique_name::unique_name;

use lease::{Held, Lease};

/// How long a session stays with a worker that has stopped renewing.
///
/// Limit: the session can be taken by another worker.
const SESSION_LEASE_TIME: Duration = Duration::from_secs(10);

/// How often the leases of a worker are renewed.
///
/// Limit: the leases are renewed.
const SESSION_RENEWAL_TIME: Duration = Duration::from_secs(2);

/// How long a worker goes on without renewing: shorter than the lease, so that its work has ended when
/// another worker begins.
///
/// Limit: the session counts as lost.
const SESSION_LOST_TIME: Duration = Duration::from_millis(6500);

// A command that ignores SIGTERM runs until it is killed.
const _: () = assert!(
    SESSION_LOST_TIME.as_millis() + TERMINATION_GRACE.as_millis() < SESSION_LEASE_TIME.as_millis()
);

/// How many records are read with one statement.
///
/// Limit: the next records are read with another statement.
const RECORDS_READ_AT_ONCE: i64 = 500;

/// The longest id of a session, in bytes.
///
/// Limit: there is no session with a longer id.
const MAX_SESSION_ID_BYTES: usize = 200;

/// The times of leases, which tests change.
#[derive(Debug, Clone, Copy)]
struct LeaseTimes {
    lease: Duration,
    renewal: Duration,
    lost: Duration,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            lease: SESSION_LEASE_TIME,
            renewal: SESSION_RENEWAL_TIME,
            lost: SESSION_LOST_TIME,
        }
    }
}

/// The sessions of all workers, for one of them.
pub struct PostgresSessions(Arc<Shared>);

/// What the store and its leases share.
struct Shared {
    pool: Pool,
    /// Renews and ends leases, however busy the others are.
    lease_pool: Pool,
    efforts: Efforts,
    times: LeaseTimes,
    /// Names the worker for people.
    owner: String,
    log: Log,
    /// Connections belong to one runtime; sessions have their own threads.
    runtime: Handle,
    held: Mutex<Vec<Weak<Lease>>>,
    tasks: Mutex<JoinSet<()>>,
}

impl PostgresSessions {
    /// Prepares the use of the database for a worker, without connecting to it. `owner` is shown to those
    /// who want a session that this worker has. Everything runs on `runtime`, whatever thread asks.
    pub fn new(
        config: &Config,
        url: &StoreUrl,
        owner: String,
        runtime: Handle,
        log: Log,
    ) -> Result<Self, TargetError> {
        Self::with_times(config, url, owner, runtime, log, LeaseTimes::default())
    }

    fn with_times(
        config: &Config,
        url: &StoreUrl,
        owner: String,
        runtime: Handle,
        log: Log,
        times: LeaseTimes,
    ) -> Result<Self, TargetError> {
        if config.store.connections == 0 {
            return Err(TargetError::NoConnections);
        }
        let target = Target::new(&config.store, url)?;
        let shared = Arc::new(Shared {
            pool: Pool::new(target.clone(), config.store.connections),
            lease_pool: Pool::new(target, 1),
            efforts: Efforts::within(config.answer_limit()),
            times,
            owner,
            log,
            runtime,
            held: Mutex::default(),
            tasks: Mutex::default(),
        });
        shared.start(renewal::renew(Arc::downgrade(&shared)));
        Ok(Self(shared))
    }
}

impl PostgresSessions {
    /// Tells whether the database answers and has the right tables; why not, if it does not.
    pub fn check(&self) -> BoxFuture<'static, Result<(), String>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move {
            let answer = shared.pool.query("select 1", &[], shared.efforts.read());
            match answer.await {
                Err(Refusal::Unavailable(error)) => Err(error.to_string()),
                _ => Ok(()),
            }
        })
    }
}

impl SessionStore for PostgresSessions {
    fn take<'a>(
        &'a self,
        session: &'a str,
        profile: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<TakenSession, StoreError>> {
        let wanted = Wanted {
            session: session.to_owned(),
            profile: profile.to_owned(),
            opening,
        };
        let (sender, taken) = oneshot::channel();
        let shared = Arc::clone(&self.0);
        self.0.start(async move {
            let taken = shared.take(wanted).await;
            // Nobody waits for it any more.
            if let Err(Ok(unused)) = sender.send(taken) {
                unused.lease.release().await;
            }
        });
        Box::pin(async move { taken.await.unwrap_or_else(|_| Err(stopped())) })
    }
}

/// A session that somebody asks for.
struct Wanted {
    session: String,
    profile: String,
    opening: Opening,
}

/// What the database says about a session that was asked for.
enum Answer {
    Taken { fence: i64, is_takeover: bool },
    HeldBy(String),
    Unknown,
}

impl Shared {
    /// Runs `work` on the runtime of the store.
    fn start(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(work, &self.runtime);
    }

    async fn take(self: Arc<Self>, wanted: Wanted) -> Result<TakenSession, StoreError> {
        if wanted.session.len() > MAX_SESSION_ID_BYTES {
            return Err(StoreError::NoSession);
        }
        let key = escaped(&wanted.session).into_owned();
        let holder = unique_name();
        let began = Instant::now();
        let answer = self.ask_for(&key, &wanted, &holder).await?;
        let (fence, is_takeover) = match answer {
            Answer::Taken { fence, is_takeover } => (fence, is_takeover),
            Answer::HeldBy(owner) => return Err(StoreError::Busy { owner }),
            Answer::Unknown => return Err(StoreError::NoSession),
        };
        if is_takeover {
            metrics::LEASE_TAKEOVERS.add_one();
            self.log.info(format_args!(
                "took over the session {} of a worker that is gone",
                wanted.session
            ));
        }
        let lease = Lease::new(Arc::clone(&self), key, holder, fence, began);
        // Renewed from now on: reading may take long.
        lock(&self.held).push(Arc::downgrade(&lease));
        match self.records(&lease).await {
            Ok(records) => {
                let lease = Arc::new(Held(lease));
                Ok(TakenSession { records, lease })
            }
            Err(error) => {
                lease.end().await;
                Err(error)
            }
        }
    }

    async fn ask_for(
        &self,
        key: &str,
        wanted: &Wanted,
        holder: &str,
    ) -> Result<Answer, StoreError> {
        let profile = escaped(&wanted.profile);
        let is_new = wanted.opening == Opening::New;
        let lease = self.times.lease.as_secs_f64();
        let parameters = [
            text(&key),
            text(&profile),
            boolean(&is_new),
            text(&self.owner),
            text(&holder),
            seconds(&lease),
        ];
        let statement = "select taken_fence, held_by, is_takeover
            from zino_take_session($1, $2, $3, $4, $5, make_interval(secs => $6))";
        let rows = self.query(statement, &parameters, self.efforts.read());
        let rows = rows.await?;
        let answer = rows.first().map(answer).transpose();
        Ok(self.readable(answer)?.unwrap_or(Answer::Unknown))
    }

    /// Reads everything that was appended to a session.
    async fn records(&self, lease: &Lease) -> Result<Vec<u8>, StoreError> {
        let mut records = Vec::new();
        loop {
            let position = records.len() as i64;
            let parameters = [
                text(&lease.key),
                integer(&position),
                integer(&RECORDS_READ_AT_ONCE),
            ];
            let statement = "select position, bytes from zino_session_record
                where session = $1 and position >= $2 order by position limit $3";
            let rows = self.query(statement, &parameters, self.efforts.long_read());
            let rows = rows.await?;
            if rows.is_empty() {
                break;
            }
            for row in &rows {
                let (position, bytes) = self.readable(record(row))?;
                if position != records.len() as i64 {
                    return Err(incomplete(records.len()));
                }
                records.extend_from_slice(bytes);
            }
        }
        let statement = "select bytes from zino_session where id = $1";
        let parameters = [text(&lease.key)];
        let rows = self.query(statement, &parameters, self.efforts.read());
        let rows = rows.await?;
        let length: Option<i64> =
            self.readable(rows.first().map(|row| row.try_get(0)).transpose())?;
        match length == Some(records.len() as i64) {
            true => Ok(records),
            false => Err(incomplete(records.len())),
        }
    }

    async fn query(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        effort: Effort,
    ) -> Result<Vec<Row>, StoreError> {
        let rows = self.pool.query(statement, parameters, effort).await;
        rows.map_err(refused)
    }

    fn readable<T>(&self, read: Result<T, PostgresError>) -> Result<T, StoreError> {
        read.map_err(|error| refused(Refusal::Unavailable(self.pool.unavailable(error))))
    }

    /// Returns the leases that somebody still has, and forgets the others.
    fn held(&self) -> Vec<Arc<Lease>> {
        let mut held = lock(&self.held);
        held.retain(|lease| lease.strong_count() > 0);
        held.iter().filter_map(Weak::upgrade).collect()
    }

    fn forget(&self, holder: &str) {
        let is_other =
            |lease: &Weak<Lease>| lease.upgrade().is_some_and(|lease| lease.holder != holder);
        lock(&self.held).retain(is_other);
    }
}

fn answer(row: &Row) -> Result<Answer, PostgresError> {
    let fence: Option<i64> = row.try_get(0)?;
    let held_by: Option<String> = row.try_get(1)?;
    let is_takeover: Option<bool> = row.try_get(2)?;
    Ok(match (fence, held_by) {
        (Some(fence), _) => Answer::Taken {
            fence,
            is_takeover: is_takeover == Some(true),
        },
        (None, Some(owner)) => Answer::HeldBy(owner),
        (None, None) => Answer::Unknown,
    })
}

fn record(row: &Row) -> Result<(i64, &[u8]), PostgresError> {
    Ok((row.try_get(0)?, row.try_get(1)?))
}

fn refused(refusal: Refusal) -> StoreError {
    match refusal {
        Refusal::Moved => StoreError::Moved,
        Refusal::Busy => unavailable("the session is busy"),
        Refusal::Full => unavailable("the store is full"),
        Refusal::Unavailable(error) => unavailable(&error.to_string()),
    }
}

fn incomplete(length: usize) -> StoreError {
    unavailable(&format!(
        "records of the session are missing after byte {length}: restore them from a backup"
    ))
}

fn stopped() -> StoreError {
    unavailable("the worker is ending")
}

fn unavailable(reason: &str) -> StoreError {
    StoreError::Unavailable {
        reason: reason.to_owned(),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
