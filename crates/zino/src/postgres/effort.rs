//! How hard to try to reach the database.

use std::time::Duration;

/// The longest that a request waits for the database, below the callers' own limit.
///
/// Limit: the request gets `store_unavailable`.
const MAX_DATABASE_PATIENCE: Duration = Duration::from_secs(30);

/// How long the database may be away before a request that stores nothing fails.
///
/// Limit: the request gets `store_unavailable`.
const DATABASE_AWAY_TIME: Duration = Duration::from_secs(1);

/// How long one step of reading everything may take.
///
/// Limit: the request gets `store_unavailable`.
const LONG_STATEMENT_TIME: Duration = Duration::from_secs(60);

/// When a statement may be sent again after the connection broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    /// It changes nothing that lasts.
    Always,
    /// It has a name, or is the same when it runs twice: whether it ran matters, but not how often.
    Named,
    /// Only if it certainly did not run.
    IfUnsent,
}

/// How hard to try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    pub(crate) repeat: Repeat,
    /// For how long the database may be away.
    pub(crate) away: Duration,
    /// How long everything may take.
    pub(crate) limit: Duration,
}

/// How hard to try for which kind of statement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Efforts {
    /// How long a request may wait, so that its caller still gets the answer.
    pub(crate) patience: Duration,
}

impl Efforts {
    /// For requests that are answered within `limit`.
    pub(crate) fn within(limit: Duration) -> Self {
        Self {
            patience: MAX_DATABASE_PATIENCE.min(limit.mul_f64(0.8)),
        }
    }

    /// For statements that change nothing.
    pub(crate) fn read(self) -> Effort {
        Effort {
            repeat: Repeat::Always,
            away: DATABASE_AWAY_TIME,
            limit: self.patience,
        }
    }

    /// For those that read much.
    pub(crate) fn long_read(self) -> Effort {
        Effort {
            limit: LONG_STATEMENT_TIME,
            ..self.read()
        }
    }

    /// For changes that have a name, or are the same when they are made twice.
    pub(crate) fn append(self) -> Effort {
        Effort {
            repeat: Repeat::Named,
            away: self.patience,
            ..self.read()
        }
    }

    /// For changes that would undo what others did in between when they are made twice.
    pub(crate) fn change_once(self) -> Effort {
        Effort {
            repeat: Repeat::IfUnsent,
            ..self.append()
        }
    }
}
