//! How the protected files of writable directories stay as they are during a run.
//!
//! In a view, those that exist are read-only mounts. Those that do not exist are swept away when the run
//! has ended. Without namespaces nothing can be made read-only inside of a writable directory, so the
//! files are compared, and a change is reported.

use std::fs::{self, Metadata};
use std::hash::DefaultHasher;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _, RandomState};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::layout::Layout;
use crate::launch::{FileIdentity, Guarded, Swept};

/// How many files below a protected directory are compared.
///
/// Limit: a change in further ones goes unnoticed where namespaces are denied.
const MAX_COMPARED_FILES: usize = 512;

/// What is done for one run.
#[derive(Debug, Default)]
pub(super) struct Guards {
    pub(super) mounted: Vec<Guarded>,
    pub(super) swept: Vec<Swept>,
    /// Protected files that no mount protects, with their state.
    pub(super) compared: Vec<(PathBuf, u64)>,
}

impl Guards {
    /// Looks at the protected paths as they are now.
    pub(super) fn of(layout: &Layout, has_view: bool) -> Self {
        let mut guards = Self::default();
        let suffix = RandomState::new().hash_one(std::process::id()) as u32;
        for path in layout.protected() {
            guards.add(path, layout, has_view, suffix);
        }
        guards
    }

    fn add(&mut self, path: &Path, layout: &Layout, has_view: bool, suffix: u32) {
        // The first part of the path that is not there, or is a link, is what could be created.
        let Some(root) = layout.writable_root(path) else {
            return;
        };
        let mut reached = root.to_owned();
        let inside = path.strip_prefix(root).unwrap_or(Path::new(""));
        for name in inside {
            reached.push(name);
            let found = fs::symlink_metadata(&reached).ok();
            match found {
                Some(found) if !found.is_symlink() => {
                    if reached != path {
                        self.hold(&reached, has_view);
                    }
                }
                found => return self.sweep(reached, found, suffix),
            }
        }
        match has_view {
            true => self.mounted.push(Guarded {
                path: path.to_owned(),
                is_read_only: true,
            }),
            false => self.compared.push((path.to_owned(), state_of(path))),
        }
    }

    /// Keeps a directory around protected files from being renamed with them.
    fn hold(&mut self, directory: &Path, has_view: bool) {
        let held = Guarded {
            path: directory.to_owned(),
            is_read_only: false,
        };
        if has_view && !self.mounted.contains(&held) {
            self.mounted.push(held);
        }
    }

    fn sweep(&mut self, path: PathBuf, before: Option<Metadata>, suffix: u32) {
        if self.swept.iter().any(|swept| swept.path == path) {
            return;
        }
        let mut name = path.file_name().unwrap_or_default().to_owned();
        // A name that the program cannot guess, and so cannot occupy.
        name.push(format!(".withheld-{suffix:08x}"));
        self.swept.push(Swept {
            renamed: path.with_file_name(name),
            before: before.as_ref().map(FileIdentity::from),
            path,
        });
    }
}

/// Returns a number that changes with the file or anything in the directory.
pub(super) fn state_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = MAX_COMPARED_FILES;
    let mut ahead = vec![path.to_owned()];
    while let Some(path) = ahead.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        path.hash(&mut hasher);
        (found.ino(), found.mode(), found.size()).hash(&mut hasher);
        (found.ctime(), found.ctime_nsec()).hash(&mut hasher);
        if !found.is_dir() || left == 0 {
            continue;
        }
        let mut entries: Vec<PathBuf> = match fs::read_dir(&path) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(_) => continue,
        };
        entries.sort_unstable();
        entries.truncate(left);
        left -= entries.len();
        ahead.extend(entries);
    }
    hasher.finish()
}
