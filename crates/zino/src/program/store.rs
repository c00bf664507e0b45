//! `zino store`: the database of `mem`.

use clap::Subcommand;

use crate::config::Config;
use crate::memory::{Contents, Database, Migrated, StoreError, TargetError};

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Create or update the tables
    Migrate,
    /// Check that the database can be reached and has the right tables
    Check,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreCommandError {
    #[error("no database is configured: set [store] url or $ZINO_STORE_URL")]
    NoDatabase,
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Runs a command; returns what to tell the user.
pub async fn run(config: &Config, command: StoreCommand) -> Result<String, StoreCommandError> {
    let database = Database::configured(config)?.ok_or(StoreCommandError::NoDatabase)?;
    let place = database.place();
    Ok(match command {
        StoreCommand::Migrate => match database.migrate().await? {
            Migrated { from, to } if from == to => {
                format!("{place}: the tables are up to date (version {to})")
            }
            Migrated { from: 0, to } => format!("{place}: created the tables (version {to})"),
            Migrated { from, to } => {
                format!("{place}: updated the tables from version {from} to {to}")
            }
        },
        StoreCommand::Check => format!("{place}: {}", summary(database.check().await?)),
    })
}

/// Says what a database contains.
pub(super) fn summary(contents: Contents) -> String {
    let soft = match contents.has_soft_memory {
        true => "a soft memory",
        false => "no soft memory",
    };
    format!(
        "{} channels, {} memories, {soft}",
        contents.channels, contents.memories
    )
}
