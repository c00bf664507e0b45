//! Why the database cannot be used.

use std::error::Error as _;
use std::time::Duration;

use tokio_postgres::Error as PostgresError;
use tokio_postgres::error::SqlState;

/// Why a request to the database failed. No message shows the password.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    #[error("{}", described(.0))]
    Failed(#[from] PostgresError),
    #[error("{}: it is unknown whether the change was stored", described(.0))]
    OutcomeUnknown(#[source] PostgresError),
    #[error("no answer within {:.1} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("no answer within {:.1} s: it is unknown whether the change was stored", .0.as_secs_f64())]
    SilentAfterChange(Duration),
    #[error("all {0} connections are in use: try again, or raise [store] connections")]
    NoConnectionLeft(usize),
    #[error("the database has no tables of zino: run `zino store migrate`")]
    NoSchema,
    #[error(
        "the tables of zino have version {found}, this zino needs {needed}: run `zino store migrate`"
    )]
    OldSchema { found: i32, needed: i32 },
    #[error(
        "the tables of zino have version {found}, this zino knows {needed}: install a newer zino"
    )]
    NewSchema { found: i32, needed: i32 },
}

/// A database that cannot be used now.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {trouble}")]
pub struct Unavailable {
    /// Names the database, without user and password.
    pub place: String,
    pub trouble: Trouble,
}

/// Why a statement failed.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The caller does not have the lease it claims.
    Moved,
    /// Another owner has the lease.
    Busy,
    Full,
    Unavailable(Unavailable),
}

/// What a failed statement means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The caller does not have the hold it claims.
    Moved,
    Busy,
    Full,
    NoSchema,
    /// The transaction was undone and may succeed when it is repeated.
    TryAgain,
    /// The connection is of no use any more, and perhaps the server.
    Disconnected,
    Failed,
}

impl Meaning {
    pub(crate) fn of(error: &PostgresError) -> Self {
        let Some(state) = error.code() else {
            return Self::Disconnected;
        };
        match state.code() {
            "ZN001" => Self::Moved,
            "ZN002" => Self::Busy,
            "ZN003" => Self::Full,
            _ if [SqlState::UNDEFINED_TABLE, SqlState::UNDEFINED_FUNCTION].contains(state) => {
                Self::NoSchema
            }
            // Deadlocks and the like, or a lock that was waited for too long.
            code if code.starts_with("40") || code == "55P03" => Self::TryAgain,
            // The server has become a standby.
            "25006" => Self::Disconnected,
            // The server is starting or ending, has too many clients, or has lost the connection.
            code if ["08", "53", "57"].contains(&code.get(..2).unwrap_or_default()) => {
                Self::Disconnected
            }
            _ => Self::Failed,
        }
    }
}

/// Describes an error with its causes.
pub(crate) fn described(error: &PostgresError) -> String {
    if let Some(error) = error.as_db_error() {
        return error.message().to_owned();
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
