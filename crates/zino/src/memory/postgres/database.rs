//! A database as `zino store` and `zino check` use it.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;

use crate::config::Config;
use crate::memory::error::StoreError;
use crate::postgres::{self, Connection, Migrated, Pool, Target, TargetError, Trouble};

/// How long checking the database may take.
///
/// Limit: the database counts as away.
const DATABASE_CHECK_TIME: Duration = Duration::from_secs(10);

/// The configured database.
pub struct Database {
    pub(super) pool: Pool,
}

/// What a database contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    pub channels: i64,
    pub memories: i64,
    pub has_soft_memory: bool,
    pub sessions: i64,
}

impl Contents {
    pub fn is_empty(&self) -> bool {
        let Self {
            channels,
            memories,
            has_soft_memory,
            sessions,
        } = *self;
        channels == 0 && memories == 0 && !has_soft_memory && sessions == 0
    }
}

impl fmt::Display for Contents {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let soft = match self.has_soft_memory {
            true => "a soft memory",
            false => "no soft memory",
        };
        let channels = counted(self.channels, "channel", "channels");
        let memories = counted(self.memories, "memory", "memories");
        write!(formatter, "{channels}, {memories}, {soft}")?;
        match self.sessions {
            0 => Ok(()),
            sessions => write!(formatter, ", {}", counted(sessions, "session", "sessions")),
        }
    }
}

impl Database {
    /// Returns the configured database; `None` when `mem` stores files.
    pub fn configured(config: &Config) -> Result<Option<Self>, TargetError> {
        let Some(url) = config.store_url() else {
            return Ok(None);
        };
        let target = Target::new(&config.store, &url)?;
        Ok(Some(Self {
            pool: Pool::new(target, 1),
        }))
    }

    /// Names the database, without user and password.
    pub fn place(&self) -> &str {
        &self.pool.target().place
    }

    /// Creates or updates the tables.
    pub async fn migrate(&self) -> Result<Migrated, StoreError> {
        let mut connection = self.pool.open().await?;
        let migrated = postgres::migrate(&mut connection).await;
        Ok(migrated.map_err(|trouble| self.pool.unavailable(trouble))?)
    }

    /// Checks that the database can be used, and counts what is in it.
    pub async fn check(&self) -> Result<Contents, StoreError> {
        let checked = async {
            let mut connection = self.open().await?;
            self.contents(&mut connection).await
        };
        match timeout(DATABASE_CHECK_TIME, checked).await {
            Ok(checked) => checked,
            Err(_) => {
                let trouble = Trouble::Silent(DATABASE_CHECK_TIME);
                Err(self.pool.unavailable(trouble).into())
            }
        }
    }

    /// Opens a connection to a database with the right tables.
    pub(super) async fn open(&self) -> Result<Connection, StoreError> {
        let mut connection = self.pool.open().await?;
        let checked = postgres::check(&mut connection).await;
        checked.map_err(|trouble| self.pool.unavailable(trouble))?;
        Ok(connection)
    }

    pub(super) async fn contents(
        &self,
        connection: &mut Connection,
    ) -> Result<Contents, StoreError> {
        let statement = "select
            (select count(*) from zino_channel where bytes is not null),
            (select count(*) from zino_memory),
            exists (select from zino_soft),
            (select count(*) from zino_session)";
        let rows = connection.query(statement, &[]).await;
        let rows = rows.map_err(|error| self.pool.unavailable(error))?;
        let contents = rows.first().map(|row| {
            Ok(Contents {
                channels: row.try_get(0)?,
                memories: row.try_get(1)?,
                has_soft_memory: row.try_get(2)?,
                sessions: row.try_get(3)?,
            })
        });
        let contents: Result<Option<Contents>, tokio_postgres::Error> = contents.transpose();
        let contents = contents.map_err(|error| self.pool.unavailable(error))?;
        contents.ok_or(StoreError::Stopped)
    }
}

fn counted(count: i64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
