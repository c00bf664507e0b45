//! The files of a project, for the picker.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::app::Choices;

/// More than any project has.
///
/// Limit: further files are not offered.
const MAX_PROJECT_FILES: usize = 300_000;

/// Levels that are listed first, which takes no time.
const NEAR_LEVELS: usize = 2;
/// Limit: further files are not offered at first sight.
const MAX_NEAR_FILES: usize = 2_000;

/// Room for the paths of a whole project, and as much for their ranges. Unused room takes no memory. An
/// allocation this large (32 MiB with glibc) returns to the system whole, while the allocator keeps parts
/// of smaller ones.
const ROOM_BYTES: usize = 40 << 20;

/// Fewer are not worth a thread.
const MAX_THREADS: usize = 4;

/// The uppermost files and directories below `root`, shown until [`list`] is done.
pub(super) fn list_near(root: &Path) -> Choices {
    let mut found = Found::default();
    let walk = walk(root).max_depth(Some(NEAR_LEVELS)).build();
    for entry in walk.flatten() {
        found.add(root, &entry);
        if found.places.len() == MAX_NEAR_FILES {
            break;
        }
    }
    found.sorted()
}

/// All files and directories below `root` that git would not ignore, directories with a slash, the upper
/// ones first.
pub(super) fn list(root: &Path) -> Choices {
    let all = Mutex::new(Found {
        text: String::with_capacity(ROOM_BYTES),
        places: Vec::with_capacity(ROOM_BYTES / size_of::<Place>()),
    });
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let walk = walk(root)
        .threads(threads.min(MAX_THREADS))
        .build_parallel();
    walk.run(|| {
        let mut gathered = Gathered {
            all: &all,
            own: Found::default(),
        };
        Box::new(move |entry| match entry {
            Ok(entry) => gathered.add(root, &entry),
            // Unreadable directories are left out.
            Err(_) => WalkState::Continue,
        })
    });
    let all = all.into_inner().unwrap_or_else(PoisonError::into_inner);
    all.sorted()
}

fn walk(root: &Path) -> WalkBuilder {
    let mut walk = WalkBuilder::new(root);
    walk.require_git(false).hidden(true);
    walk
}

/// Paths in one piece of memory: with an allocation for each, memory freed by the threads would stay
/// with the process, several times as much as the list itself.
#[derive(Default)]
struct Found {
    text: String,
    places: Vec<Place>,
}

struct Place {
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
        self.place(start, self.text.len(), depth.count());
    }

    fn place(&mut self, start: usize, end: usize, depth: usize) {
        if let [Ok(depth), Ok(start), Ok(end)] = [depth, start, end].map(u32::try_from) {
            self.places.push(Place { depth, start, end });
        }
    }

    /// Moves the paths of another here; it keeps its capacity.
    fn take(&mut self, other: &mut Self) {
        let before = self.text.len();
        self.text.push_str(&other.text);
        for place in other.places.drain(..) {
            let (start, end) = (place.start as usize, place.end as usize);
            self.place(before + start, before + end, place.depth as usize);
        }
        other.text.clear();
    }

    fn sorted(mut self) -> Choices {
        let path = |place: &Place| self.text.get(place.start as usize..place.end as usize);
        self.places
            .sort_unstable_by(|a, b| a.depth.cmp(&b.depth).then_with(|| path(a).cmp(&path(b))));
        self.places.truncate(MAX_PROJECT_FILES);
        let places = self.places.into_iter();
        Choices::placed(self.text, places.map(|place| (place.start, place.end)))
    }
}

/// The paths of one thread, handed in now and then and when it ends.
struct Gathered<'a> {
    all: &'a Mutex<Found>,
    own: Found,
}

impl Gathered<'_> {
    const BATCH: usize = 512;

    fn add(&mut self, root: &Path, entry: &DirEntry) -> WalkState {
        self.own.add(root, entry);
        match self.own.places.len() < Self::BATCH || self.hand_in() < MAX_PROJECT_FILES {
            true => WalkState::Continue,
            false => WalkState::Quit,
        }
    }

    fn hand_in(&mut self) -> usize {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.take(&mut self.own);
        all.places.len()
    }
}

impl Drop for Gathered<'_> {
    fn drop(&mut self) {
        self.hand_in();
    }
}
