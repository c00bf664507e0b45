//! The store in PostgreSQL, which any number of `mem` processes may use at the same time.
//!
//! Every request is one statement, which is one transaction: what has to happen together happens in
//! functions of the database (`postgres/001.sql`). Nothing depends on a connection.

mod channels;
mod claims;
mod database;
mod directory;
mod hard;
mod hold;
mod sessions;
mod soft;
#[cfg(test)]
mod tests;
mod transfer;

use std::sync::{Arc, Mutex};

use tokio::task::JoinSet;
use zot_wire::zino::memory::{Request, Response};

use super::error::StoreError;
use super::stored::NewMemory;
use super::{RequestError, history_limit, wanted};
use crate::config::{Config, StoreUrl};
use crate::postgres::{Efforts, Pool, Target, TargetError};
use crate::service::Responses;
use crate::unique_name::unique_name;

use hard::HardMemories;
use hold::HoldTimes;

pub use database::{Contents, Database};
pub use directory::Present;
pub use sessions::SessionEntry;

/// What is stored in one database.
pub(super) struct PostgresStore {
    pool: Arc<Pool>,
    efforts: Efforts,
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
            efforts: Efforts::within(config.answer_limit()),
            times: HoldTimes::default(),
            holds: Mutex::default(),
        })
    }

    /// Checks that the database answers and has the right tables.
    pub(super) async fn reach(&self) -> Result<(), StoreError> {
        self.pool
            .query("select 1", &[], self.efforts.read())
            .await?;
        Ok(())
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
                results: self.hard.search(query, wanted(top_k), self.efforts).await?,
            },
            Request::StoreHard {
                messages,
                tag,
                call,
            } => {
                let memory = NewMemory { messages, tag };
                let effort = self.efforts.append();
                Response::Stored {
                    id: self.hard.store(&[memory], call, effort).await?,
                }
            }
            Request::DeleteHard { id } => {
                self.hard.delete(id, self.efforts.append()).await?;
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
            Request::Claim(request) => self.claim(request).await?,
        })
    }

    /// Reads what others have stored into the index, so that the first search need not wait.
    pub(super) async fn build_ahead(&self) -> Result<(), StoreError> {
        self.hard.follow(self.efforts).await
    }
}
