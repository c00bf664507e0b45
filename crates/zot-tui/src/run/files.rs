//! The files of a project, for the picker.

mod ignored;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::app::Choices;
use ignored::IgnoreRules;

/// Hardly any project has more files.
///
/// Limit: more files are not offered.
const MAX_PROJECT_FILES: usize = 300_000;

/// How many levels are listed first, which is fast.
const NEAR_LEVELS: usize = 2;
/// Limit: more files are offered only once all are known.
const MAX_NEAR_FILES: usize = 2_000;

/// Capacity for the paths of a whole project, and as much for their ranges. Unused capacity takes no
/// memory. An allocation this large (over 32 MiB with glibc) is returned to the system when freed,
/// while the allocator keeps parts of smaller ones.
const CAPACITY_BYTES: usize = 40 << 20;

/// More threads do not list files faster.
const MAX_THREADS: usize = 4;

/// Lists the top files and directories below `root`, shown until [`list`] is done.
pub(super) fn list_near(root: &Path) -> Choices {
    let mut found = Found::default();
    let walk = walk(root).max_depth(Some(NEAR_LEVELS)).build();
    for entry in walk.flatten() {
        found.add(root, &entry);
        if found.ranges.len() == MAX_NEAR_FILES {
            break;
        }
    }
    found.sorted()
}

/// Lists all files and directories below `root` that git would not ignore, directories with a slash,
/// the top ones first.
pub(super) fn list(root: &Path) -> Choices {
    let all = Mutex::new(Found {
        text: String::with_capacity(CAPACITY_BYTES),
        ranges: Vec::with_capacity(CAPACITY_BYTES / size_of::<PathRange>()),
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk = walk(root)
        .threads(threads.min(MAX_THREADS))
        .build_parallel();
    walk.run(|| {
        let mut paths = ThreadPaths {
            all: &all,
            local: Found::default(),
        };
        Box::new(move |entry| match entry {
            Ok(entry) => paths.add(root, &entry),
            // Unreadable directories are left out.
            Err(_) => WalkState::Continue,
        })
    });
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sorted()
}

fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    let rules = IgnoreRules::new(root);
    walk.standard_filters(false)
        .filter_entry(move |entry| rules.includes(entry));
    walk
}

/// Paths in one allocation: with one for each, memory freed by the threads would stay with the
/// process, several times as much as the list itself.
#[derive(Default)]
struct Found {
    text: String,
    ranges: Vec<PathRange>,
}

struct PathRange {
    depth: u32,
    start: u32,
    end: u32,
}

impl Found {
    fn add(&mut self, root: &Path, entry: &DirEntry) {
        let path = entry.path().strip_prefix(root).ok().and_then(Path::to_str);
        let (Some(path), Some(kind)) = (path, entry.file_type()) else {
            return;
        };
        if path.is_empty() {
            return;
        }
        let start = self.text.len();
        self.text.push_str(path);
        if kind.is_dir() {
            self.text.push('/');
        }
        let depth = self.text[start..].bytes().filter(|byte| *byte == b'/');
        self.push_range(start, self.text.len(), depth.count());
    }

    fn push_range(&mut self, start: usize, end: usize, depth: usize) {
        if let [Ok(depth), Ok(start), Ok(end)] = [depth, start, end].map(u32::try_from) {
            self.ranges.push(PathRange { depth, start, end });
        }
    }

    /// Moves the paths of `other` here; `other` keeps its capacity.
    fn append(&mut self, other: &mut Self) {
        let before = self.text.len();
        self.text.push_str(&other.text);
        for range in other.ranges.drain(..) {
            let (start, end) = (range.start as usize, range.end as usize);
            self.push_range(before + start, before + end, range.depth as usize);
        }
        other.text.clear();
    }

    fn sorted(mut self) -> Choices {
        let path = |range: &PathRange| self.text.get(range.start as usize..range.end as usize);
        self.ranges
            .sort_unstable_by(|a, b| a.depth.cmp(&b.depth).then_with(|| path(a).cmp(&path(b))));
        self.ranges.truncate(MAX_PROJECT_FILES);
        let ranges = self.ranges.into_iter();
        Choices::from_ranges(self.text, ranges.map(|range| (range.start, range.end)))
    }
}

/// The paths found by one thread, moved to the shared list in batches and at its end.
struct ThreadPaths<'a> {
    all: &'a Mutex<Found>,
    local: Found,
}

impl ThreadPaths<'_> {
    const BATCH_PATHS: usize = 512;

    fn add(&mut self, root: &Path, entry: &DirEntry) -> WalkState {
        self.local.add(root, entry);
        match self.local.ranges.len() < Self::BATCH_PATHS || self.flush() < MAX_PROJECT_FILES {
            true => WalkState::Continue,
            false => WalkState::Quit,
        }
    }

    fn flush(&mut self) -> usize {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(&mut self.local);
        all.ranges.len()
    }
}

impl Drop for ThreadPaths<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
