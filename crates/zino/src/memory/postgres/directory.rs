//! Moves a directory of files into a database and back.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio_postgres::Row;

use super::channels::key;
use super::database::{Contents, Database};
use crate::memory::error::StoreError;
use crate::memory::files::{FileStore, RawPart, is_vacant};
use crate::postgres::{Connection, Parameter, byte_strings, bytes, integer, text, unescaped};

/// How many parts wait for the other side.
///
/// Limit: the reading side waits.
const RAW_PARTS_AHEAD: usize = 2;

/// How many rows are read with one statement.
///
/// Limit: the next rows are read with another statement.
const EXPORTED_ROWS_AT_ONCE: i64 = 100;

/// The name under which the list of the files' channels is kept.
const NAME_LIST: &str = "channels/.ids.jsonl";

/// What to do with what is already in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Present {
    /// Refuse to import.
    Keep,
    /// Delete it.
    Replace,
}

impl Database {
    /// Copies a directory of `mem` into the database, in one transaction. The directory stays as it is.
    pub async fn import(&self, directory: &Path, present: Present) -> Result<Contents, StoreError> {
        let files = Arc::new(FileStore::new(directory));
        let (sender, parts) = mpsc::channel(RAW_PARTS_AHEAD);
        let reading = tokio::task::spawn_blocking(move || files.read_raw(&sender));
        let stored = self.store_parts(parts, present).await;
        let read = reading.await.unwrap_or(Err(StoreError::Stopped));
        // Without a commit, nothing has changed.
        let (mut connection, is_empty) = stored?;
        read?;
        let sessions = self.import_sessions(&mut connection, directory).await?;
        if is_empty && sessions == 0 {
            return Err(StoreError::NothingToImport(directory.to_owned()));
        }
        let contents = self.contents(&mut connection).await?;
        self.run(&mut connection, "commit").await?;
        Ok(contents)
    }

    /// Stores all parts in a transaction, which is left open; returns also whether there were none.
    async fn store_parts(
        &self,
        mut parts: Receiver<RawPart>,
        present: Present,
    ) -> Result<(Connection, bool), StoreError> {
        let mut connection = self.open().await?;
        let begin = "begin; set local lock_timeout = '10s'; lock table zino_channel, zino_entry, \
                     zino_memory, zino_memory_state, zino_soft, zino_file, zino_session, \
                     zino_session_record in exclusive mode";
        self.run(&mut connection, begin).await?;
        let contents = self.contents(&mut connection).await?;
        if present == Present::Keep && !contents.is_empty() {
            return Err(StoreError::NotEmpty {
                place: self.place().to_owned(),
                contents,
            });
        }
        let empty = "delete from zino_channel; delete from zino_entry; delete from zino_memory; \
                     delete from zino_soft; delete from zino_file; delete from zino_session; \
                     delete from zino_session_record; update zino_memory_state \
                     set epoch = gen_random_uuid(), next_id = 0, change = 0";
        self.run(&mut connection, empty).await?;
        let mut channel = None;
        let mut is_empty = true;
        while let Some(part) = parts.recv().await {
            is_empty = false;
            match part {
                RawPart::Names(content) => {
                    let statement = "insert into zino_file (name, content) values ($1, $2)";
                    let parameters = [text(&NAME_LIST), bytes(&content)];
                    self.query(&mut connection, statement, &parameters).await?;
                }
                RawPart::Channel(id) => {
                    let key = key(&id)?.into_owned();
                    let statement = "insert into zino_channel (id, bytes) values ($1, 2)";
                    self.query(&mut connection, statement, &[text(&key)])
                        .await?;
                    channel = Some(key);
                }
                RawPart::Memories => channel = None,
                RawPart::Elements(elements) => match &channel {
                    Some(key) => {
                        let statement = "select zino_append($1, null, null, null, $2)";
                        let parameters = [text(key), byte_strings(&elements)];
                        self.query(&mut connection, statement, &parameters).await?;
                    }
                    None => {
                        let statement = "select zino_store_memories(null, $1)";
                        let parameters = [byte_strings(&elements)];
                        self.query(&mut connection, statement, &parameters).await?;
                    }
                },
                RawPart::Soft(content) => {
                    let statement = "select zino_set_soft($1)::text";
                    self.query(&mut connection, statement, &[bytes(&content)])
                        .await?;
                }
            }
        }
        Ok((connection, is_empty))
    }

    /// Copies the database, as it is at one moment, into an empty directory.
    pub async fn export(&self, directory: &Path) -> Result<Contents, StoreError> {
        if !is_vacant(directory)? {
            return Err(StoreError::DirectoryNotEmpty(directory.to_owned()));
        }
        let mut connection = self.open().await?;
        let begin = "begin isolation level repeatable read read only";
        self.run(&mut connection, begin).await?;
        let contents = self.contents(&mut connection).await?;
        let files = FileStore::new(directory);
        let (sender, parts) = mpsc::channel(RAW_PARTS_AHEAD);
        let writing = tokio::task::spawn_blocking(move || files.write_raw(parts));
        let sent = self.send_parts(&mut connection, sender).await;
        match writing.await {
            Ok(written) => written?,
            Err(_) => return Err(StoreError::Stopped),
        }
        sent?;
        self.export_sessions(&mut connection, directory).await?;
        Ok(contents)
    }

    async fn send_parts(
        &self,
        connection: &mut Connection,
        parts: Sender<RawPart>,
    ) -> Result<(), StoreError> {
        let send = async |part| parts.send(part).await.map_err(|_| StoreError::Stopped);
        let statement = "select content from zino_file where name = $1";
        for row in self
            .query(connection, statement, &[text(&NAME_LIST)])
            .await?
        {
            send(RawPart::Names(self.column(&row, 0)?)).await?;
        }
        let statement = "select id from zino_channel where bytes is not null order by id";
        for row in self.query(connection, statement, &[]).await? {
            let key: String = self.column(&row, 0)?;
            send(RawPart::Channel(unescaped(key.clone()))).await?;
            let statement = "select sequence, messages from zino_entry
                where channel = $1 and sequence > $2 order by sequence limit $3";
            let mut last = 0_i64;
            loop {
                let parameters = [text(&key), integer(&last), integer(&EXPORTED_ROWS_AT_ONCE)];
                let rows = self.query(connection, statement, &parameters).await?;
                let Some(row) = rows.last() else { break };
                last = self.column(row, 0)?;
                for row in &rows {
                    send(RawPart::Elements(self.column(row, 1)?)).await?;
                }
            }
        }
        self.send_memories(connection, &parts).await?;
        for row in self
            .query(connection, "select content from zino_soft", &[])
            .await?
        {
            send(RawPart::Soft(self.column(&row, 0)?)).await?;
        }
        Ok(())
    }

    async fn send_memories(
        &self,
        connection: &mut Connection,
        parts: &Sender<RawPart>,
    ) -> Result<(), StoreError> {
        let send = async |part| parts.send(part).await.map_err(|_| StoreError::Stopped);
        let statement = "select id, body from zino_memory where id > $1 order by id limit $2";
        let mut last = -1_i64;
        loop {
            let parameters = [integer(&last), integer(&EXPORTED_ROWS_AT_ONCE)];
            let rows = self.query(connection, statement, &parameters).await?;
            let Some(row) = rows.last() else {
                return Ok(());
            };
            if last < 0 {
                send(RawPart::Memories).await?;
            }
            last = self.column(row, 0)?;
            let bodies: Result<Vec<Vec<u8>>, _> =
                rows.iter().map(|row| self.column(row, 1)).collect();
            send(RawPart::Elements(bodies?)).await?;
        }
    }

    pub(super) async fn query(
        &self,
        connection: &mut Connection,
        statement: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        let rows = connection.query(statement, parameters).await;
        Ok(rows.map_err(|error| self.pool.unavailable(error))?)
    }

    async fn run(&self, connection: &mut Connection, statements: &str) -> Result<(), StoreError> {
        let ran = connection.run(statements).await;
        Ok(ran.map_err(|error| self.pool.unavailable(error))?)
    }

    pub(super) fn column<'row, T: tokio_postgres::types::FromSql<'row>>(
        &self,
        row: &'row Row,
        column: usize,
    ) -> Result<T, StoreError> {
        let column = row.try_get(column);
        Ok(column.map_err(|error| self.pool.unavailable(error))?)
    }
}
