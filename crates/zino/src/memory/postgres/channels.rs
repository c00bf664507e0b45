//! The histories of channels.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use tokio_postgres::Row;
use zot_wire::zino::Message;
use zot_wire::zino::memory::{ChannelEntry, Hold};

use super::PostgresStore;
use crate::memory::MAX_INLINE_MESSAGES;
use crate::memory::element::{Elements, StoredMessage};
use crate::memory::error::StoreError;
use crate::memory::stored::message;
use crate::postgres::{Efforts, Refusal, byte_strings, escaped, integer, text, unescaped};

/// The longest id of a channel: an index of PostgreSQL stores no more.
///
/// Limit: a longer channel id is refused by the database.
const MAX_DATABASE_CHANNEL_BYTES: usize = 2000;

/// The pauses while another owner has the channel.
pub(super) const FIRST_BUSY_PAUSE: Duration = Duration::from_millis(20);
pub(super) const LONGEST_BUSY_PAUSE: Duration = Duration::from_millis(200);

/// The last appends that together have the wanted number of messages.
const LAST_MESSAGES: &str = "
    select messages from (
        select sequence, messages, sum(count) over (order by sequence desc) - count as newer
        from (
            select sequence, messages, count from zino_entry
            where channel = $1 order by sequence desc limit $2
        ) as latest
    ) as numbered
    where newer < $2 order by sequence";

const ALL_MESSAGES: &str = "select messages from zino_entry where channel = $1 order by sequence";

impl PostgresStore {
    /// Returns the last `limit` messages of a channel, or all.
    pub(super) async fn history(
        &self,
        channel: &str,
        limit: Option<usize>,
    ) -> Result<Vec<Message>, StoreError> {
        let key = key(channel)?;
        let rows = match limit {
            Some(limit) => {
                let wanted = i64::try_from(limit).unwrap_or(i64::MAX);
                let parameters = [text(&key), integer(&wanted)];
                let effort = self.efforts.read();
                self.pool.query(LAST_MESSAGES, &parameters, effort).await?
            }
            None => {
                let effort = self.efforts.long_read();
                self.pool.query(ALL_MESSAGES, &[text(&key)], effort).await?
            }
        };
        let decoded = match limit {
            Some(limit) if limit <= MAX_INLINE_MESSAGES => messages(&rows),
            // Everything else in the process would wait while a long history is decoded.
            _ => {
                let decoded = tokio::task::spawn_blocking(move || messages(&rows)).await;
                decoded.map_err(|_| StoreError::Stopped)?
            }
        };
        let mut messages = decoded.map_err(|error| self.pool.unavailable(error))?;
        let surplus = messages.len().saturating_sub(limit.unwrap_or(usize::MAX));
        Ok(messages.split_off(surplus))
    }

    /// Appends messages under a name; returns the number of the append.
    pub(super) async fn append(
        &self,
        channel: &str,
        messages: &[Message],
        call: String,
        hold: Option<&Hold>,
    ) -> Result<i64, StoreError> {
        let elements = Elements::of(messages.iter().map(StoredMessage));
        let elements: Vec<&[u8]> = elements.each().collect();
        let (key, call) = (key(channel)?, escaped(&call));
        let owner = hold.map(|hold| escaped(&hold.owner));
        let fence = hold.map(|hold| hold.fence);
        let parameters = [
            text(&key),
            text(&call),
            text(&owner),
            integer(&fence),
            byte_strings(&elements),
        ];
        let statement = "select zino_append($1, $2, $3, $4, $5)";
        let append = |patience| {
            let effort = Efforts { patience }.append();
            self.pool.query(statement, &parameters, effort)
        };
        let rows = wait_while_busy(self.efforts.patience, append).await;
        let rows = rows.map_err(|refusal| StoreError::of_refusal(refusal, channel))?;
        self.number(&rows)
    }

    pub(super) async fn clear(&self, channel: &str) -> Result<(), StoreError> {
        let key = key(channel)?;
        let parameters = [text(&key)];
        let clear = |patience| {
            let effort = Efforts { patience }.change_once();
            let statement = "select zino_clear($1)::text";
            self.pool.query(statement, &parameters, effort)
        };
        match wait_while_busy(self.efforts.patience, clear).await {
            Ok(_) => Ok(()),
            Err(refusal) => Err(StoreError::of_refusal(refusal, channel)),
        }
    }

    pub(super) async fn list(&self) -> Result<Vec<ChannelEntry>, StoreError> {
        let statement = "select id, bytes from zino_channel where bytes is not null";
        let effort = self.efforts.long_read();
        let rows = self.pool.query(statement, &[], effort).await?;
        let entry = |row: &Row| {
            let bytes: i64 = row.try_get(1)?;
            Ok(ChannelEntry {
                bytes: bytes.unsigned_abs(),
                channel_id: unescaped(row.try_get(0)?),
            })
        };
        let listed: Result<Vec<ChannelEntry>, tokio_postgres::Error> =
            rows.iter().map(entry).collect();
        let mut listed = listed.map_err(|error| self.pool.unavailable(error))?;
        listed.sort_by(|left, right| left.channel_id.cmp(&right.channel_id));
        Ok(listed)
    }

    /// The number that a function has returned.
    pub(super) fn number(&self, rows: &[Row]) -> Result<i64, StoreError> {
        let number = rows.first().map_or(Ok(0), |row| row.try_get(0));
        Ok(number.map_err(|error| self.pool.unavailable(error))?)
    }
}

/// Tries again while another owner has the channel. `work` receives the time that is left.
async fn wait_while_busy<T, F>(
    limit: Duration,
    mut work: impl FnMut(Duration) -> F,
) -> Result<T, Refusal>
where
    F: Future<Output = Result<T, Refusal>>,
{
    let deadline = Instant::now() + limit;
    let mut pause = FIRST_BUSY_PAUSE;
    loop {
        match work(deadline.saturating_duration_since(Instant::now())).await {
            Err(Refusal::Busy) if Instant::now() + pause < deadline => sleep(pause).await,
            result => return result,
        }
        pause = LONGEST_BUSY_PAUSE.min(pause * 2);
    }
}

/// Decodes the messages of appends.
pub(super) fn messages(rows: &[Row]) -> Result<Vec<Message>, tokio_postgres::Error> {
    let mut messages = Vec::new();
    for row in rows {
        let elements: Vec<&[u8]> = row.try_get("messages")?;
        messages.extend(elements.into_iter().map(message));
    }
    Ok(messages)
}

/// The id of a channel as the database stores it.
pub(super) fn key(channel: &str) -> Result<Cow<'_, str>, StoreError> {
    let key = escaped(channel);
    match key.len() <= MAX_DATABASE_CHANNEL_BYTES {
        true => Ok(key),
        false => Err(StoreError::LongChannel {
            length: key.len(),
            limit: MAX_DATABASE_CHANNEL_BYTES,
        }),
    }
}
