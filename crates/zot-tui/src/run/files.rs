//! The files of a project, for the picker.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

/// More than anybody has in one project; the rest is not offered.
const MAX_FILES: usize = 300_000;

/// Levels that are looked at first: what is there in no time.
const NEAR_LEVELS: usize = 2;
const MAX_NEAR: usize = 2_000;

/// Threads are not worth their start for fewer.
const MAX_THREADS: usize = 4;

/// A path gathered by a thread, with how deep it is.
type Found = (usize, String);

/// The uppermost files and folders below `root`, for the moment until [`list`] is done.
pub(super) fn list_near(root: &Path) -> Vec<String> {
    let walk = walk(root).max_depth(Some(NEAR_LEVELS)).build();
    let found = walk.flatten().filter_map(|entry| path(root, &entry));
    sorted(found.take(MAX_NEAR).collect())
}

/// All files and folders below `root` that git would not ignore, folders with a slash, the upper
/// ones first.
pub(super) fn list(root: &Path) -> Vec<String> {
    let all = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk = walk(root)
        .threads(threads.min(MAX_THREADS))
        .build_parallel();
    walk.run(|| {
        let mut gathered = Gathered {
            all: &all,
            own: Vec::new(),
        };
        Box::new(move |entry| match entry {
            Ok(entry) => gathered.add(path(root, &entry)),
            // What cannot be read is not offered.
            Err(_) => WalkState::Continue,
        })
    });
    sorted(all.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.require_git(false).hidden(true);
    walk
}

/// What one thread has found; handed in when it ends, and now and then.
struct Gathered<'a> {
    all: &'a Mutex<Vec<Found>>,
    own: Vec<Found>,
}

impl Gathered<'_> {
    const BATCH: usize = 4_096;

    fn add(&mut self, found: Option<Found>) -> WalkState {
        self.own.extend(found);
        match self.own.len() < Self::BATCH || self.hand_in() < MAX_FILES {
            true => WalkState::Continue,
            false => WalkState::Quit,
        }
    }

    fn hand_in(&mut self) -> usize {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(&mut self.own);
        all.len()
    }
}

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        self.hand_in();
    }
}

fn path(root: &Path, entry: &DirEntry) -> Option<Found> {
    let path = entry.path().strip_prefix(root).ok()?.to_str()?;
    if path.is_empty() {
        return None;
    }
    let depth = path.bytes().filter(|byte| *byte == b'/').count();
    Some(match entry.file_type()?.is_dir() {
        true => (depth + 1, format!("{path}/")),
        false => (depth, path.to_owned()),
    })
}

fn sorted(mut found: Vec<Found>) -> Vec<String> {
    found.sort_unstable();
    found.truncate(MAX_FILES);
    found.into_iter().map(|(_, path)| path).collect()
}
