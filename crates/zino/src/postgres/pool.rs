//! A bounded number of connections that are kept, and opened again when they break.

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_postgres::{Error as PostgresError, Row};

use super::connection::{Connection, Parameter};
use super::effort::{Effort, Repeat};
use super::schema;
use super::target::Target;
use super::trouble::{Meaning, Refusal, Trouble, Unavailable};
use crate::metrics;

/// The pauses between attempts to reach the database.
const FIRST_PAUSE: Duration = Duration::from_millis(25);
const LONGEST_PAUSE: Duration = Duration::from_millis(400);

/// Connections to one database.
pub(crate) struct Pool {
    target: Target,
    permits: Semaphore,
    connections: usize,
    idle: Mutex<Vec<Connection>>,
    /// Whether the last attempt to connect failed.
    is_away: AtomicBool,
}

/// A failed attempt.
struct Failure {
    trouble: Trouble,
    meaning: Meaning,
    was_sent: bool,
}

impl Failure {
    fn unsent(trouble: Trouble, meaning: Meaning) -> Self {
        Self {
            trouble,
            meaning,
            was_sent: false,
        }
    }
}

impl Pool {
    pub(crate) fn new(target: Target, connections: usize) -> Self {
        Self {
            target,
            permits: Semaphore::new(connections),
            connections,
            idle: Mutex::default(),
            is_away: AtomicBool::new(false),
        }
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Runs one statement, which is one transaction.
    pub(crate) async fn query(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        effort: Effort,
    ) -> Result<Vec<Row>, Refusal> {
        let began = Instant::now();
        let deadline = began + effort.limit;
        let mut pause = FIRST_PAUSE;
        let mut was_sent = false;
        loop {
            let failure = match self.attempt(statement, parameters, deadline).await {
                Ok(rows) => return Ok(rows),
                Err(failure) => failure,
            };
            if let Trouble::Silent(time) = &failure.trouble {
                metrics::STORE_LAG_MICROSECONDS.set(microseconds(*time));
            }
            // What was sent and not answered may have been done, even if a later attempt fails.
            was_sent |= failure.was_sent && failure.meaning == Meaning::Disconnected;
            let repeatable = match failure.meaning {
                Meaning::TryAgain => true,
                Meaning::Disconnected => !failure.was_sent || effort.repeat != Repeat::IfUnsent,
                _ => false,
            };
            if !repeatable || began.elapsed() + pause > effort.away {
                let is_unknown = was_sent && effort.repeat != Repeat::Always;
                return Err(self.refusal(failure, is_unknown));
            }
            sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    async fn attempt(
        &self,
        statement: &str,
        parameters: &[Parameter<'_>],
        deadline: Instant,
    ) -> Result<Vec<Row>, Failure> {
        let (_permit, mut connection) = self.connection(deadline).await?;
        let began = Instant::now();
        match timeout_at(deadline, connection.query(statement, parameters)).await {
            Ok(Ok(rows)) => {
                metrics::STORE_LAG_MICROSECONDS.set(microseconds(began.elapsed()));
                self.keep(connection);
                Ok(rows)
            }
            Ok(Err(error)) => {
                let meaning = Meaning::of(&error);
                match meaning {
                    // Others have probably broken too.
                    Meaning::Disconnected => self.idle().clear(),
                    _ => self.keep(connection),
                }
                Err(Failure {
                    trouble: error.into(),
                    meaning,
                    was_sent: true,
                })
            }
            Err(_) => {
                self.idle().clear();
                Err(Failure {
                    trouble: Trouble::Silent(began.elapsed()),
                    meaning: Meaning::Disconnected,
                    was_sent: true,
                })
            }
        }
    }

    /// Returns a connection to a database with the right tables.
    async fn connection(
        &self,
        deadline: Instant,
    ) -> Result<(SemaphorePermit<'_>, Connection), Failure> {
        let began = Instant::now();
        let Ok(Ok(permit)) = timeout_at(deadline, self.permits.acquire()).await else {
            let trouble = match self.is_away.load(Ordering::Relaxed) {
                // The others are trying to connect.
                true => Trouble::Silent(began.elapsed()),
                false => Trouble::NoConnectionLeft(self.connections),
            };
            return Err(Failure::unsent(trouble, Meaning::Failed));
        };
        while let Some(mut kept) = self.take_idle() {
            if kept.is_usable() {
                return Ok((permit, kept));
            }
        }
        let began = Instant::now();
        let deadline = deadline.min(began + self.target.connect_time);
        let opened = timeout_at(deadline, async {
            let mut connection = Connection::open(&self.target).await?;
            schema::check(&mut connection).await.map(|()| connection)
        });
        let opened = opened.await;
        let is_open = matches!(opened, Ok(Ok(_)));
        self.is_away.store(!is_open, Ordering::Relaxed);
        match opened {
            Ok(Ok(connection)) => Ok((permit, connection)),
            Ok(Err(trouble)) => {
                let meaning = match &trouble {
                    Trouble::Failed(error) => Meaning::of(error),
                    _ => Meaning::Failed,
                };
                Err(Failure::unsent(trouble, meaning))
            }
            Err(_) => {
                let trouble = Trouble::Silent(began.elapsed());
                Err(Failure::unsent(trouble, Meaning::Disconnected))
            }
        }
    }

    /// `is_unknown` is whether a change may have been stored.
    fn refusal(&self, failure: Failure, is_unknown: bool) -> Refusal {
        match failure.meaning {
            Meaning::Moved => return Refusal::Moved,
            Meaning::Busy => return Refusal::Busy,
            Meaning::Full => return Refusal::Full,
            _ => {}
        }
        let trouble = match (failure.meaning, failure.trouble) {
            (Meaning::NoSchema, _) => Trouble::NoSchema,
            (Meaning::Disconnected, Trouble::Failed(error)) if is_unknown => {
                Trouble::OutcomeUnknown(error)
            }
            (Meaning::Disconnected, Trouble::Silent(time)) if is_unknown => {
                Trouble::SilentAfterChange(time)
            }
            (_, trouble) => trouble,
        };
        Refusal::Unavailable(self.unavailable(trouble))
    }

    pub(crate) fn unavailable(&self, trouble: impl Into<Trouble>) -> Unavailable {
        Unavailable {
            place: self.target.place.clone(),
            trouble: trouble.into(),
        }
    }

    /// Opens a connection of its own, for transactions of several statements.
    pub(crate) async fn open(&self) -> Result<Connection, Unavailable> {
        let limit = self.target.connect_time;
        match timeout(limit, Connection::open(&self.target)).await {
            Ok(opened) => opened.map_err(|error: PostgresError| self.unavailable(error)),
            Err(_) => Err(self.unavailable(Trouble::Silent(limit))),
        }
    }

    fn take_idle(&self) -> Option<Connection> {
        self.idle().pop()
    }

    fn keep(&self, connection: Connection) {
        self.idle().push(connection);
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
