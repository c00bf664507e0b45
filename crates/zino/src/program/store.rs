//! `zino store`: the database of `mem`.

use std::path::PathBuf;

use clap::Subcommand;

use crate::config::Config;
use crate::memory::{Database, Present, SessionEntry, StoreError};
use crate::postgres::{Migrated, TargetError};

#[derive(Debug, Subcommand)]
pub enum StoreCommand {
    /// Create or update the tables
    Migrate,
    /// Check that the database can be reached and has the right tables
    Check,
    /// Copy a directory of files into the database, in one transaction
    Import {
        /// The data_dir of the service that stored files
        directory: PathBuf,
        /// Delete what is in the database first
        #[arg(long)]
        replace: bool,
    },
    /// Copy the database into a new directory of files
    Export {
        /// A directory that is empty or does not exist
        directory: PathBuf,
    },
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

/// Returns the sessions of agents, the last changed first.
pub async fn list_sessions(config: &Config) -> Result<Vec<SessionEntry>, StoreCommandError> {
    let database = Database::configured(config)?.ok_or(StoreCommandError::NoDatabase)?;
    Ok(database.sessions().await?)
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
        StoreCommand::Check => format!("{place}: {}", database.check().await?),
        StoreCommand::Import { directory, replace } => {
            let present = match replace {
                true => Present::Replace,
                false => Present::Keep,
            };
            let contents = database.import(&directory, present).await?;
            format!("{place}: imported {contents}")
        }
        StoreCommand::Export { directory } => {
            let contents = database.export(&directory).await?;
            format!("{}: exported {contents}", directory.display())
        }
    })
}
