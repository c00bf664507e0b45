//! The tables, and how they get from one version to the next.

use tokio_postgres::Error as PostgresError;
use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::trouble::Trouble;

/// What leads from each version to the next. Released ones are never changed.
const MIGRATIONS: [&str; 2] = [include_str!("001.sql"), include_str!("002.sql")];

/// The version of this program.
pub(crate) const VERSION: i32 = MIGRATIONS.len() as i32;

/// Any number that other programs do not use: only one process migrates at a time.
const MIGRATION_LOCK: i64 = 0x7A69_6E6F_0001;

/// The versions before and after a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    pub from: i32,
    pub to: i32,
}

/// Checks that the database has the tables that this program needs.
pub(crate) async fn check(connection: &mut Connection) -> Result<(), Trouble> {
    let found = match version(connection).await {
        Ok(found) => found,
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_TABLE) => 0,
        Err(error) => return Err(error.into()),
    };
    match found {
        VERSION => Ok(()),
        0 => Err(Trouble::NoSchema),
        _ if found < VERSION => Err(Trouble::OldSchema {
            found,
            needed: VERSION,
        }),
        _ => Err(Trouble::NewSchema {
            found,
            needed: VERSION,
        }),
    }
}

/// Brings the tables to the version of this program, in one transaction.
pub(crate) async fn migrate(connection: &mut Connection) -> Result<Migrated, Trouble> {
    connection
        .run(&format!(
            "begin; select pg_advisory_xact_lock({MIGRATION_LOCK}); \
             create table if not exists zino_schema \
             (version integer primary key, applied_at timestamptz not null default now())"
        ))
        .await?;
    let from = version(connection).await?;
    if from > VERSION {
        return Err(Trouble::NewSchema {
            found: from,
            needed: VERSION,
        });
    }
    let applied = usize::try_from(from).unwrap_or(0);
    for (statements, version) in MIGRATIONS.iter().zip(1..).skip(applied) {
        connection.run(statements).await?;
        let note = format!("insert into zino_schema (version) values ({version})");
        connection.run(&note).await?;
    }
    connection.run("commit").await?;
    Ok(Migrated { from, to: VERSION })
}

async fn version(connection: &mut Connection) -> Result<i32, PostgresError> {
    let statement = "select coalesce(max(version), 0) from zino_schema";
    let rows = connection.query(statement, &[]).await?;
    match rows.first() {
        Some(row) => row.try_get(0),
        None => Ok(0),
    }
}
