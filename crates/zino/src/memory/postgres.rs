//! The store in PostgreSQL, which any number of `mem` processes may use at the same time.
//!
//! Every request is one statement, which is one transaction: what has to happen together happens in
//! functions of the database (`001.sql`). Nothing depends on a session.

mod channels;
mod database;
mod directory;
mod hard;
mod hold;
mod pool;
mod schema;
mod session;
mod soft;
mod target;
#[cfg(test)]
mod tests;
mod tls;
mod transfer;
mod trouble;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use zot_wire::zino::memory::{Request, Response};

use super::error::StoreError;
use super::stored::NewMemory;
use super::{RequestError, history_limit, wanted};
use crate::config::{Config, StoreUrl};
use crate::service::Responses;
use crate::unique_name::unique_name;

use hard::HardMemories;
use hold::HoldTimes;
use pool::{Effort, Pool, Repeat};
use target::Target;

pub use database::{Contents, Database};
pub use directory::Present;
pub use schema::Migrated;
pub use target::TargetError;
pub use trouble::Trouble;

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

/// What is stored in one database.
pub(super) struct PostgresStore {
    pool: Arc<Pool>,
    /// How long a request may wait, so that its caller still gets the answer.
    patience: Duration,
    times: HoldTimes,
    holds: Mutex<JoinSet<()>>,
    hard: HardMemories,
}

impl PostgresStore {
    /// Prepares the use of a database, without connecting to it.
    pub(super) fn new(config: &Config, url: &StoreUrl) -> Result<Self, TargetError> {
        if config.store.connections == 0 {
            return Err(TargetError::NoConnections);
        }
        let target = Target::new(&config.store, url)?;
        let pool = Arc::new(Pool::new(target, config.store.connections));
        Ok(Self {
            hard: HardMemories::new(Arc::clone(&pool)),
            pool,
            patience: MAX_DATABASE_PATIENCE.min(config.answer_limit().mul_f64(0.8)),
            times: HoldTimes::default(),
            holds: Mutex::default(),
        })
    }

    /// Sends the earlier frames of the response and returns the last.
    pub(super) async fn respond(
        &self,
        request: Request,
        responses: &Responses<Response>,
    ) -> Result<Response, RequestError> {
        Ok(match request {
            Request::GetHistory { channel_id, limit } => Response::History {
                messages: self.history(&channel_id, history_limit(limit)).await?,
            },
            // As with files, an append of nothing does nothing.
            Request::AppendHistory { messages, .. } if messages.is_empty() => Response::Done,
            Request::AppendHistory {
                channel_id,
                messages,
                call: Some(call),
                hold,
            } => Response::Appended {
                sequence: self
                    .append(&channel_id, &messages, call, hold.as_ref())
                    .await?,
            },
            Request::AppendHistory {
                channel_id,
                messages,
                call: None,
                hold,
            } => {
                // A name of ours, so that it can be repeated when the connection breaks.
                self.append(&channel_id, &messages, unique_name(), hold.as_ref())
                    .await?;
                Response::Done
            }
            Request::HoldChannel {
                channel_id,
                owner,
                fence,
            } => {
                return self.hold(channel_id, owner, fence, responses).await;
            }
            Request::ClearHistory { channel_id } => {
                self.clear(&channel_id).await?;
                Response::Done
            }
            Request::ListChannels => Response::Channels {
                channels: self.list().await?,
            },
            Request::SearchHard { query, top_k } => Response::HardMemories {
                results: self
                    .hard
                    .search(query, wanted(top_k), self.efforts())
                    .await?,
            },
            Request::StoreHard {
                messages,
                tag,
                call,
            } => {
                let memory = NewMemory { messages, tag };
                let effort = self.efforts().append();
                Response::Stored {
                    id: self.hard.store(&[memory], call, effort).await?,
                }
            }
            Request::DeleteHard { id } => {
                self.hard.delete(id, self.efforts().append()).await?;
                Response::Done
            }
            Request::GetSoft => Response::SoftMemory {
                content: self.soft().await?,
            },
            Request::SetSoft { content } => {
                self.set_soft(&content).await?;
                Response::Done
            }
            Request::Export => self.export(responses).await?,
            Request::Import { items } => self.import(items, responses).await?,
        })
    }

    /// Reads what others have stored into the index, so that the first search need not wait.
    pub(super) async fn build_ahead(&self) -> Result<(), StoreError> {
        self.hard.follow(self.efforts()).await
    }

    fn efforts(&self) -> Efforts {
        Efforts {
            patience: self.patience,
        }
    }
}

/// How hard to try for which kind of statement.
#[derive(Debug, Clone, Copy)]
struct Efforts {
    patience: Duration,
}

impl Efforts {
    /// For statements that change nothing.
    fn read(self) -> Effort {
        Effort {
            repeat: Repeat::Always,
            away: DATABASE_AWAY_TIME,
            limit: self.patience,
        }
    }

    /// For those that read much.
    fn long_read(self) -> Effort {
        Effort {
            limit: LONG_STATEMENT_TIME,
            ..self.read()
        }
    }

    /// For changes that have a name, or are the same when they are made twice.
    fn append(self) -> Effort {
        Effort {
            repeat: Repeat::Named,
            away: self.patience,
            ..self.read()
        }
    }

    /// For changes that would undo what others did in between when they are made twice.
    fn change_once(self) -> Effort {
        Effort {
            repeat: Repeat::IfUnsent,
            ..self.append()
        }
    }
}
