//! `export` and `import` of everything that is stored, in the same frames as the store of files.

use tokio_postgres::Row;
use zot_wire::zino::Message;
use zot_wire::zino::memory::{ExportedItem, ImportedItem, Response};

use super::PostgresStore;
use super::channels::{key, messages};
use crate::memory::RequestError;
use crate::memory::error::StoreError;
use crate::memory::stored::{NewMemory, TRANSFER_BATCH, exported_memory};
use crate::postgres::{integer, text};
use crate::service::{HungUp, Responses};
use crate::unique_name::unique_name;

/// How many appends are read with one statement.
///
/// Limit: the next appends are read with another statement.
const APPENDS_READ_AT_ONCE: i64 = 50;

impl PostgresStore {
    pub(super) async fn export(
        &self,
        responses: &Responses<Response>,
    ) -> Result<Response, RequestError> {
        let mut items = Items { responses, sent: 0 };
        for listed in self.list().await? {
            self.export_channel(listed.channel_id, &mut items).await?;
        }
        let effort = self.efforts.long_read();
        let mut known = 0;
        loop {
            let memories = self.hard.entries(known, TRANSFER_BATCH, effort).await?;
            if memories.is_empty() {
                break;
            }
            for memory in memories {
                items.send(exported_memory(known, memory)).await?;
                known += 1;
            }
        }
        let content = self.soft().await?;
        if !content.is_empty() {
            items.send(ExportedItem::Soft { content }).await?;
        }
        Ok(Response::Exported { items: items.sent })
    }

    async fn export_channel(
        &self,
        channel: String,
        items: &mut Items<'_>,
    ) -> Result<(), RequestError> {
        let mut last = 0;
        let mut unsent: Vec<Message> = Vec::new();
        loop {
            let rows = self.appends_after(&channel, last).await?;
            let (Some(row), decoded) = (rows.last(), messages(&rows)) else {
                break;
            };
            last = self.broken(row.try_get("sequence"))?;
            unsent.extend(self.broken(decoded)?);
            while unsent.len() >= TRANSFER_BATCH {
                let rest = unsent.split_off(TRANSFER_BATCH);
                items.send_history(&channel, unsent).await?;
                unsent = rest;
            }
        }
        match unsent.is_empty() {
            true => Ok(()),
            false => Ok(items.send_history(&channel, unsent).await?),
        }
    }

    async fn appends_after(&self, channel: &str, last: i64) -> Result<Vec<Row>, StoreError> {
        let key = key(channel)?;
        let statement = "select sequence, messages from zino_entry
            where channel = $1 and sequence > $2 order by sequence limit $3";
        let parameters = [text(&key), integer(&last), integer(&APPENDS_READ_AT_ONCE)];
        let effort = self.efforts.long_read();
        Ok(self.pool.query(statement, &parameters, effort).await?)
    }

    /// Adds the items of an export; all of them have been checked.
    pub(super) async fn import(
        &self,
        items: Vec<ImportedItem>,
        responses: &Responses<Response>,
    ) -> Result<Response, RequestError> {
        let total = items.len();
        let mut done = 0;
        let mut memories = Vec::new();
        let mut items = items.into_iter().peekable();
        while let Some(item) = items.next() {
            done += 1;
            match item {
                ImportedItem::History { messages, .. } if messages.is_empty() => {}
                ImportedItem::History {
                    channel_id,
                    messages,
                } => {
                    self.append(&channel_id, &messages, unique_name(), None)
                        .await?;
                }
                ImportedItem::Soft { content } => self.set_soft(&content).await?,
                // Neighbouring memories are stored together.
                ImportedItem::Hard { messages, tag } => {
                    memories.push(NewMemory { messages, tag });
                    let more = matches!(items.peek(), Some(ImportedItem::Hard { .. }));
                    if more && memories.len() < TRANSFER_BATCH {
                        continue;
                    }
                    let effort = self.efforts.append();
                    self.hard
                        .store(&std::mem::take(&mut memories), None, effort)
                        .await?;
                }
            }
            responses.send(Response::Progress { done, total }).await?;
        }
        Ok(Response::Imported { items: total })
    }

    fn broken<T>(&self, read: Result<T, tokio_postgres::Error>) -> Result<T, StoreError> {
        Ok(read.map_err(|error| self.pool.unavailable(error))?)
    }
}

/// Sends items and counts them.
struct Items<'a> {
    responses: &'a Responses<Response>,
    sent: u64,
}

impl Items<'_> {
    async fn send(&mut self, item: ExportedItem) -> Result<(), HungUp> {
        self.sent += 1;
        self.responses.send(Response::Item(item)).await
    }

    async fn send_history(&mut self, channel: &str, messages: Vec<Message>) -> Result<(), HungUp> {
        self.send(ExportedItem::History {
            channel_id: channel.to_owned(),
            messages,
        })
        .await
    }
}
