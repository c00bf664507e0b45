//! One connection to the database.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Waker};
use std::time::Duration;

use tokio::time::Instant;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Connection as Driver, Error as PostgresError, Row, Socket};

use super::target::Target;
use super::tls::Encrypted;

/// How long a connection is kept at most, so that a server that has moved is found again.
///
/// Limit: a connection to the database is replaced after this time.
const MAX_DATABASE_CONNECTION_AGE: Duration = Duration::from_secs(600);

/// A parameter of a statement and its type: statements are never prepared, so that pgbouncer may give each
/// transaction another connection.
pub(crate) type Parameter<'a> = (&'a (dyn ToSql + Sync), Type);

pub(crate) fn text(value: &(dyn ToSql + Sync)) -> Parameter<'_> {
    (value, Type::TEXT)
}

pub(crate) fn integer(value: &(dyn ToSql + Sync)) -> Parameter<'_> {
    (value, Type::INT8)
}

pub(crate) fn seconds(value: &f64) -> Parameter<'_> {
    (value, Type::FLOAT8)
}

pub(crate) fn boolean(value: &bool) -> Parameter<'_> {
    (value, Type::BOOL)
}

pub(crate) fn texts(value: &(dyn ToSql + Sync)) -> Parameter<'_> {
    (value, Type::TEXT_ARRAY)
}

pub(crate) fn bytes(value: &(dyn ToSql + Sync)) -> Parameter<'_> {
    (value, Type::BYTEA)
}

pub(crate) fn integers(value: &(dyn ToSql + Sync)) -> Parameter<'_> {
    (value, Type::INT8_ARRAY)
}

pub(crate) fn byte_strings(value: &(dyn ToSql + Sync)) -> Parameter<'_> {
    (value, Type::BYTEA_ARRAY)
}

/// A connection, which makes progress only while one of its methods runs.
pub(crate) struct Connection {
    client: Client,
    /// `None` after the end of the connection.
    driver: Option<Pin<Box<Driver<Socket, Encrypted>>>>,
    opened: Instant,
}

impl Connection {
    pub(crate) async fn open(target: &Target) -> Result<Self, PostgresError> {
        let (client, driver) = target.config.connect(target.connector.clone()).await?;
        Ok(Self {
            client,
            driver: Some(Box::pin(driver)),
            opened: Instant::now(),
        })
    }

    /// Runs one statement.
    pub(crate) async fn query(
        &mut self,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, PostgresError> {
        let work = self.client.query_typed(statement, parameters);
        drive(&mut self.driver, work).await
    }

    /// Runs statements without parameters.
    pub(crate) async fn run(&mut self, statements: &str) -> Result<(), PostgresError> {
        let work = self.client.batch_execute(statements);
        drive(&mut self.driver, work).await
    }

    /// Whether the connection can be used again, as far as is known without asking the server.
    pub(crate) fn is_usable(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        let is_open = self
            .driver
            .as_mut()
            .is_some_and(|driver| driver.as_mut().poll(&mut context).is_pending());
        is_open && self.opened.elapsed() < MAX_DATABASE_CONNECTION_AGE
    }
}

/// Does `work` while moving its bytes.
async fn drive<T>(
    driver: &mut Option<Pin<Box<Driver<Socket, Encrypted>>>>,
    work: impl Future<Output = Result<T, PostgresError>>,
) -> Result<T, PostgresError> {
    let mut work = pin!(work);
    let Some(open) = driver else {
        return work.await;
    };
    let ended = tokio::select! {
        biased;
        result = &mut work => return result,
        ended = open => ended,
    };
    // The work ends with what has arrived, or with an error.
    *driver = None;
    match (work.await, ended) {
        (Err(error), Err(cause)) if error.is_closed() => Err(cause),
        (result, _) => result,
    }
}
