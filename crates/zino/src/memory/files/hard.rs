//! The hard memories: one file, and an index over it that is built on first use.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use zot_wire::zino::Message;
use zot_wire::zino::memory::FoundMemory;

use super::array::Shape;
use super::directory::Directory;
use super::file::{self, Access, Inspected, Locked};
use crate::memory::element::{Elements, Memory, NO_MEMORY};
use crate::memory::error::StoreError;
use crate::memory::index::{Index, Wanted};
use crate::memory::stored::{self, NewMemory, add_to_index, found_memory, searched_texts};

/// The length from which reading a file takes noticeable time.
///
/// Limit: the index of a longer file is built at the start, on a thread that ends with the service.
const BUILT_AHEAD_BYTES: u64 = 1024 * 1024;

pub(super) struct HardMemories {
    directory: Directory,
    path: PathBuf,
    state: Mutex<State>,
}

/// What is known about the file.
#[derive(Default)]
struct State {
    seen: Option<Inspected>,
    index: Index,
    /// The position of each memory.
    starts: Vec<u64>,
}

impl HardMemories {
    pub(super) fn new(directory: Directory) -> Self {
        Self {
            path: directory.path().join("hard_memories.json"),
            directory,
            state: Mutex::default(),
        }
    }

    /// Whether nothing has been stored yet.
    pub(super) fn is_absent(&self) -> bool {
        !self.path.exists()
    }

    pub(super) fn search(
        &self,
        query: &str,
        wanted: Wanted,
    ) -> Result<Vec<FoundMemory>, StoreError> {
        let mut state = self.state();
        let Some(locked) = self.current(&mut state, Access::Read)? else {
            return Ok(Vec::new());
        };
        let hits = state.index.search(query, wanted);
        hits.into_iter()
            .map(|hit| {
                let memory = state.read(&locked, hit.number as usize)?;
                Ok(found_memory(memory, hit.score))
            })
            .collect()
    }

    /// Stores memories; returns the number of the first.
    pub(super) fn store(&self, memories: &[NewMemory]) -> Result<u64, StoreError> {
        let elements = Elements::of(memories.iter().map(|memory| Memory {
            messages: &memory.messages,
            tag: &memory.tag,
        }));
        let mut state = self.state();
        for _ in 0..file::MAX_REPLACED_FILE_ATTEMPTS {
            let Some(locked) = self.current(&mut state, Access::Append)? else {
                let _guard = self.directory.lock()?;
                if file::create(&self.path, &elements)? {
                    return Ok(0);
                }
                continue;
            };
            let Some(seen) = state.seen.filter(|seen| seen.shape == Shape::Canonical) else {
                drop(locked);
                self.repair()?;
                continue;
            };
            if u32::try_from(seen.count + memories.len() as u64).is_err() {
                return Err(StoreError::Full);
            }
            let (after, begin) = match locked.append(&seen, &elements) {
                Ok(appended) => appended,
                Err(error) => {
                    *state = State::default();
                    return Err(error);
                }
            };
            for memory in memories {
                let messages = memory.messages.iter().filter_map(Message::text);
                state.index.add(&searched_texts(messages, &memory.tag));
            }
            state.starts.extend(elements.starts(begin));
            state.seen = Some(after);
            return Ok(seen.count);
        }
        Err(StoreError::Busy(self.path.clone()))
    }

    /// Replaces a memory by an empty one, so that all others keep their numbers.
    pub(super) fn delete(&self, number: u64) -> Result<(), StoreError> {
        let mut state = self.state();
        for _ in 0..file::MAX_REPLACED_FILE_ATTEMPTS {
            // First, because a repair takes the directory's lock too.
            drop(self.current(&mut state, Access::Read)?);
            let _guard = self.directory.lock()?;
            let Some(locked) = file::lock(&self.path, Access::Append)? else {
                return Err(StoreError::NoSuchMemory(number));
            };
            let stamp = locked.stamp()?;
            let Some(seen) = state.seen.filter(|seen| seen.stamp == stamp) else {
                continue;
            };
            let position = usize::try_from(number).unwrap_or(usize::MAX);
            let Some(&start) = state.starts.get(position) else {
                return Err(StoreError::NoSuchMemory(number));
            };
            let old = state.element(&locked, position)?.len() as u64;
            let nothing = Elements::of([NO_MEMORY]);
            let new = nothing.bytes().len() as u64;
            file::replace(&self.path, |file| {
                locked.copy_to(file, 0..start)?;
                file.write_all(nothing.bytes())?;
                locked.copy_to(file, start + old..stamp.length)
            })?;
            state.index.remove(position as u32);
            for later in &mut state.starts[position + 1..] {
                *later = *later - old + new;
            }
            let after = file::lock(&self.path, Access::Read)?;
            let after = after.map(|locked| locked.stamp()).transpose()?;
            state.seen = after
                // If another process has appended by now, everything is read again.
                .filter(|after| after.length == stamp.length - old + new)
                .map(|stamp| Inspected {
                    whole_end: seen.whole_end - old + new,
                    stamp,
                    ..seen
                });
            return Ok(());
        }
        Err(StoreError::Busy(self.path.clone()))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Builds the index of a long file before the first search; searches wait for it meanwhile. The
    /// index of a short file is built on demand, and costs nothing until then.
    pub(super) fn build_ahead(&self, keep_going: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let length = self.path.metadata().map_or(0, |metadata| metadata.len());
        if length < BUILT_AHEAD_BYTES {
            return Ok(());
        }
        let mut state = self.state();
        self.current_while(keep_going, &mut state, Access::Read)
            .map(drop)
    }

    #[cfg(test)]
    pub(super) fn has_index(&self) -> bool {
        self.state().seen.is_some()
    }

    /// The number of memories.
    pub(super) fn count(&self) -> Result<usize, StoreError> {
        let mut state = self.state();
        let locked = self.current(&mut state, Access::Read)?;
        Ok(locked.map_or(0, |_| state.starts.len()))
    }

    /// Reads the existing entries with these numbers.
    pub(super) fn entries(
        &self,
        numbers: std::ops::Range<usize>,
    ) -> Result<Vec<Value>, StoreError> {
        let mut state = self.state();
        let Some(locked) = self.current(&mut state, Access::Read)? else {
            return Ok(Vec::new());
        };
        let end = numbers.end.min(state.starts.len());
        (numbers.start..end)
            .map(|number| state.read(&locked, number))
            .collect()
    }

    /// Locks the file and updates the index; `None` when there is no file.
    fn current(&self, state: &mut State, access: Access) -> Result<Option<Locked>, StoreError> {
        self.current_while(&|| true, state, access)
    }

    fn current_while(
        &self,
        keep_going: &dyn Fn() -> bool,
        state: &mut State,
        access: Access,
    ) -> Result<Option<Locked>, StoreError> {
        for _ in 0..file::MAX_REPLACED_FILE_ATTEMPTS {
            let Some(locked) = file::lock(&self.path, access)? else {
                *state = State::default();
                return Ok(None);
            };
            let stamp = locked.stamp()?;
            if state.seen.is_some_and(|seen| seen.stamp == stamp) {
                return Ok(Some(locked));
            }
            if !state.follow(&locked)? {
                state.build(keep_going, &locked)?;
            }
            match state.seen.map(|seen| seen.shape) {
                Some(Shape::Canonical | Shape::Whole) => return Ok(Some(locked)),
                Some(Shape::NotAnArray) => {
                    *state = State::default();
                    return Err(StoreError::NotAnArray(self.path.clone()));
                }
                Some(Shape::Torn) | None => {
                    drop(locked);
                    self.repair()?;
                }
            }
        }
        Err(StoreError::Busy(self.path.clone()))
    }

    fn repair(&self) -> Result<(), StoreError> {
        let _guard = self.directory.lock()?;
        file::normalise(&self.path)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Indexes what was appended; returns `false` when more than that has changed.
    fn follow(&mut self, locked: &Locked) -> Result<bool, StoreError> {
        let Some(seen) = self.seen else {
            return Ok(false);
        };
        if !locked.has_grown(&seen)? {
            return Ok(false);
        }
        let (index, starts) = (&mut self.index, &mut self.starts);
        let found = locked.inspect(Some(&seen), &mut |start, bytes| {
            add_to_index(index, bytes);
            starts.push(start);
        })?;
        self.seen = Some(found);
        Ok(found.shape == Shape::Canonical)
    }

    fn build(&mut self, keep_going: &dyn Fn() -> bool, locked: &Locked) -> Result<(), StoreError> {
        *self = Self::default();
        let mut index = Index::filling();
        let mut starts = Vec::new();
        let found = locked.inspect_while(keep_going, None, &mut |start, bytes| {
            add_to_index(&mut index, bytes);
            starts.push(start);
        })?;
        index.settle();
        *self = Self {
            seen: Some(found),
            index,
            starts,
        };
        Ok(())
    }

    fn read(&self, locked: &Locked, number: usize) -> Result<Value, StoreError> {
        Ok(stored::memory(&self.element(locked, number)?))
    }

    /// The bytes of an entry.
    fn element(&self, locked: &Locked, number: usize) -> Result<Vec<u8>, StoreError> {
        let Some(&start) = self.starts.get(number) else {
            return Ok(Vec::new());
        };
        let whole_end = self.seen.map_or(start, |seen| seen.whole_end);
        let end = self.starts.get(number + 1).copied().unwrap_or(whole_end);
        let mut bytes = vec![0; end.saturating_sub(start) as usize];
        let count = locked.read_at(&mut bytes, start)?;
        bytes.truncate(count);
        let last = bytes
            .iter()
            .rposition(|byte| !matches!(byte, b',' | b' ' | b'\n' | b'\r' | b'\t'));
        bytes.truncate(last.map_or(0, |last| last + 1));
        Ok(bytes)
    }
}
