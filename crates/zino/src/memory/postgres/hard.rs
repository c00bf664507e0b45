//! The hard memories: the table, and an index in this process that follows it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::{Error as PostgresError, Row};
use zot_wire::zino::memory::FoundMemory;

use crate::memory::element::{Elements, Memory, NO_MEMORY};
use crate::memory::error::StoreError;
use crate::memory::index::{Index, Wanted};
use crate::memory::stored::{self, NewMemory, add_to_index, found_memory};
use crate::postgres::{
    Effort, Efforts, Pool, byte_strings, bytes, escaped, integer, integers, text,
};
use crate::unique_name::unique_name;

/// How many memories are read with one statement.
///
/// Limit: the next memories are read with another statement.
const MEMORIES_READ_AT_ONCE: usize = 1000;

pub(super) struct HardMemories {
    pool: Arc<Pool>,
    state: Arc<RwLock<State>>,
    /// One at a time updates the state.
    following: Arc<Semaphore>,
}

/// What is known of the table.
#[derive(Default)]
struct State {
    seen: Seen,
    index: Index,
    /// Whether the index is being filled for the first time, and not ready for searches.
    is_filling: bool,
}

/// Up to where the table has been read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    /// `None` before the first time.
    epoch: Option<String>,
    change: i64,
}

impl State {
    /// Whether a search sees everything up to `target`.
    fn has(&self, target: &Seen) -> bool {
        self.seen.epoch == target.epoch && self.seen.change >= target.change
    }
}

impl HardMemories {
    pub(super) fn new(pool: Arc<Pool>) -> Self {
        Self {
            pool,
            state: Arc::default(),
            following: Arc::new(Semaphore::new(1)),
        }
    }

    pub(super) async fn search(
        &self,
        query: String,
        wanted: Wanted,
        efforts: Efforts,
    ) -> Result<Vec<FoundMemory>, StoreError> {
        self.follow(efforts).await?;
        let state = Arc::clone(&self.state);
        let hits = in_background(move || {
            let hits = read(&state).index.search(&query, wanted);
            let found = hits.iter().map(|hit| (i64::from(hit.number), hit.score));
            found.collect::<Vec<_>>()
        })
        .await?;
        let mut found = Vec::new();
        for hits in hits.chunks(MEMORIES_READ_AT_ONCE) {
            found.extend(self.found(hits, efforts).await?);
        }
        Ok(found)
    }

    /// Reads the memories with these ids and scores. One that was deleted meanwhile is left out.
    async fn found(
        &self,
        hits: &[(i64, f64)],
        efforts: Efforts,
    ) -> Result<Vec<FoundMemory>, StoreError> {
        let ids: Vec<i64> = hits.iter().map(|(id, _)| *id).collect();
        let statement = "select id, body from zino_memory where id = any($1)";
        let rows = self
            .pool
            .query(statement, &[integers(&ids)], efforts.read())
            .await?;
        let bodies = rows.iter().map(entry).collect::<Result<HashMap<_, _>, _>>();
        let bodies = bodies.map_err(|error| self.pool.unavailable(error))?;
        let nothing = Elements::of([NO_MEMORY]);
        Ok(hits
            .iter()
            .filter_map(|(id, score)| Some((*bodies.get(id)?, *score)))
            .filter(|(body, _)| *body != nothing.bytes())
            .map(|(body, score)| found_memory(stored::memory(body), score))
            .collect())
    }

    /// Stores memories; returns the number of the first.
    pub(super) async fn store(
        &self,
        memories: &[NewMemory],
        call: Option<String>,
        effort: Effort,
    ) -> Result<u64, StoreError> {
        let elements = Elements::of(memories.iter().map(|memory| Memory {
            messages: &memory.messages,
            tag: &memory.tag,
        }));
        let bodies: Vec<&[u8]> = elements.each().collect();
        // Without a name, one of ours, so that it can be repeated when the connection breaks.
        let call = call.unwrap_or_else(unique_name);
        let call = escaped(&call);
        let statement = "select zino_store_memories($1, $2)";
        let parameters = [text(&call), byte_strings(&bodies)];
        let rows = self.pool.query(statement, &parameters, effort).await?;
        let id: Result<i64, _> = rows.first().map_or(Ok(0), |row| row.try_get(0));
        let id = id.map_err(|error| self.pool.unavailable(error))?;
        Ok(id.unsigned_abs())
    }

    /// Replaces a memory by an empty one, so that all others keep their numbers.
    pub(super) async fn delete(&self, number: u64, effort: Effort) -> Result<(), StoreError> {
        let Ok(id) = i64::try_from(number) else {
            return Err(StoreError::NoSuchMemory(number));
        };
        let nothing = Elements::of([NO_MEMORY]);
        let nothing = nothing.bytes();
        let statement = "select zino_delete_memory($1, $2)";
        let parameters = [integer(&id), bytes(&nothing)];
        let rows = self.pool.query(statement, &parameters, effort).await?;
        let existed = rows.first().map_or(Ok(false), |row| row.try_get(0));
        match existed.map_err(|error| self.pool.unavailable(error))? {
            true => Ok(()),
            false => Err(StoreError::NoSuchMemory(number)),
        }
    }

    /// Reads `count` memories from `first` on.
    pub(super) async fn entries(
        &self,
        first: usize,
        count: usize,
        effort: Effort,
    ) -> Result<Vec<serde_json::Value>, StoreError> {
        let rows = self.page(first, count, effort).await?;
        let memory = |row: &Row| entry(row).map(|(_, body)| stored::memory(body));
        let memories: Result<_, PostgresError> = rows.iter().map(memory).collect();
        Ok(memories.map_err(|error| self.pool.unavailable(error))?)
    }

    /// Brings the index up to date with what anybody has stored before.
    pub(super) async fn follow(&self, efforts: Efforts) -> Result<(), StoreError> {
        // Before waiting for others: while the database is away, nobody waits longer for that.
        let target = self.now(efforts.read()).await?;
        // Never waits: the services share one thread, and a change of the index takes long.
        let is_current = |state: RwLockReadGuard<'_, State>| state.has(&target);
        if self.state.try_read().is_ok_and(is_current) {
            return Ok(());
        }
        let permit = Arc::clone(&self.following).acquire_owned().await;
        let mut permit = permit.map_err(|_| StoreError::Stopped)?;
        if read(&self.state).has(&target) {
            return Ok(());
        }
        let seen = read(&self.state).seen.clone();
        if seen.epoch == target.epoch {
            permit = self.follow_deletions(permit, seen.change, efforts).await?;
        } else {
            permit = self.reset(permit, target.epoch.clone()).await?;
        }
        loop {
            let known = read(&self.state).index.len();
            let rows = self
                .page(known, MEMORIES_READ_AT_ONCE, efforts.long_read())
                .await?;
            if rows.is_empty() {
                break;
            }
            permit = self
                .update(permit, move |index| {
                    rows.iter().try_for_each(|row| add_row(index, row))
                })
                .await?;
        }
        let state = Arc::clone(&self.state);
        in_background(move || {
            let mut state = write(&state);
            if state.is_filling {
                state.index.settle();
                state.is_filling = false;
            }
            state.seen = target;
            drop(permit);
        })
        .await
    }

    /// Begins to fill the index. Until it is filled, nothing counts as seen.
    async fn reset(
        &self,
        permit: OwnedSemaphorePermit,
        epoch: Option<String>,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let state = Arc::clone(&self.state);
        in_background(move || {
            *write(&state) = State {
                seen: Seen { epoch, change: -1 },
                index: Index::filling(),
                is_filling: true,
            };
            permit
        })
        .await
    }

    /// Removes from the index what was deleted after `change`.
    async fn follow_deletions(
        &self,
        permit: OwnedSemaphorePermit,
        change: i64,
        efforts: Efforts,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let known = read(&self.state).index.len() as i64;
        let nothing = Elements::of([NO_MEMORY]);
        let nothing = nothing.bytes();
        // A memory that was stored after `change` may be in the index already.
        let statement = "select id from zino_memory where change > $1 and id < $2 and body = $3";
        let parameters = [integer(&change), integer(&known), bytes(&nothing)];
        let effort = efforts.long_read();
        let rows = self.pool.query(statement, &parameters, effort).await?;
        self.update(permit, move |index| {
            rows.iter().try_for_each(|row| {
                let id: i64 = row.try_get(0)?;
                if let Ok(number) = u32::try_from(id) {
                    index.remove(number);
                }
                Ok(())
            })
        })
        .await
    }

    /// Changes the index. Nobody else does so until that is finished, even if the caller hangs up.
    async fn update(
        &self,
        permit: OwnedSemaphorePermit,
        change: impl FnOnce(&mut Index) -> Result<(), PostgresError> + Send + 'static,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let state = Arc::clone(&self.state);
        let changed = in_background(move || change(&mut write(&state).index).map(|()| permit));
        Ok(changed
            .await?
            .map_err(|error| self.pool.unavailable(error))?)
    }

    /// Returns up to where the table could be read now.
    async fn now(&self, effort: Effort) -> Result<Seen, StoreError> {
        let statement = "select epoch, change from zino_memory_state";
        let rows = self.pool.query(statement, &[], effort).await?;
        let Some(row) = rows.first() else {
            return Ok(Seen::default());
        };
        let seen = || {
            Ok(Seen {
                epoch: Some(row.try_get(0)?),
                change: row.try_get(1)?,
            })
        };
        Ok(seen().map_err(|error: PostgresError| self.pool.unavailable(error))?)
    }

    async fn page(
        &self,
        first: usize,
        count: usize,
        effort: Effort,
    ) -> Result<Vec<Row>, StoreError> {
        let (first, count) = (first as i64, count as i64);
        let statement = "select id, body from zino_memory where id >= $1 order by id limit $2";
        let parameters = [integer(&first), integer(&count)];
        Ok(self.pool.query(statement, &parameters, effort).await?)
    }
}

/// Adds a memory under its id. Rows removed by hand leave gaps, which count as empty memories.
fn add_row(index: &mut Index, row: &Row) -> Result<(), PostgresError> {
    let (id, body) = entry(row)?;
    let id = usize::try_from(id).unwrap_or(0);
    while index.len() < id && index.add(&[]) {}
    add_to_index(index, body);
    Ok(())
}

fn entry(row: &Row) -> Result<(i64, &[u8]), PostgresError> {
    Ok((row.try_get("id")?, row.try_get("body")?))
}

/// Works on a blocking thread, since the services share one thread.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|_| StoreError::Stopped)
}

fn read(state: &RwLock<State>) -> RwLockReadGuard<'_, State> {
    state.read().unwrap_or_else(PoisonError::into_inner)
}

fn write(state: &RwLock<State>) -> RwLockWriteGuard<'_, State> {
    state.write().unwrap_or_else(PoisonError::into_inner)
}
