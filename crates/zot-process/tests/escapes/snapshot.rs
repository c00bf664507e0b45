//! The state of files, to find every change.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is compared of files: type, mode, owner, links, size, times, and the content of small ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, String>);

impl Snapshot {
    /// Looks at everything below `roots`, except below `left_out`.
    pub(crate) fn of(roots: &[PathBuf], left_out: &[PathBuf]) -> Self {
        let mut snapshot = Self::default();
        for root in roots {
            snapshot.add(root, left_out);
        }
        snapshot
    }

    fn add(&mut self, path: &Path, left_out: &[PathBuf]) {
        let Ok(found) = fs::symlink_metadata(path) else {
            return;
        };
        let content = match () {
            () if found.is_file() => fs::read(path).map_or_else(
                |error| error.to_string(),
                |bytes| String::from_utf8_lossy(&bytes[..bytes.len().min(256)]).into_owned(),
            ),
            () if found.is_symlink() => format!("{:?}", fs::read_link(path)),
            () => String::new(),
        };
        let is_left_out = left_out.iter().any(|left_out| left_out == path);
        if is_left_out {
            // What it contains, and how it is protected, is its owner's business; not whether it is there.
            self.0.insert(path.to_owned(), format!("{}", found.ino()));
            return;
        }
        let state = format!(
            "{:o} {}:{} links {} size {} times {}.{} {}.{} {content:?}",
            found.mode(),
            found.uid(),
            found.gid(),
            found.nlink(),
            if found.is_dir() { 0 } else { found.size() },
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
        );
        self.0.insert(path.to_owned(), state);
        if found.is_dir() {
            let entries = fs::read_dir(path).into_iter().flatten().flatten();
            for entry in entries {
                self.add(&entry.path(), left_out);
            }
        }
    }

    /// Returns the paths that differ, and how.
    pub(crate) fn changes(&self, now: &Self) -> Vec<(PathBuf, String)> {
        let mut changes = Vec::new();
        for (path, before) in &self.0 {
            match now.0.get(path) {
                None => changes.push((path.clone(), "is gone".to_owned())),
                Some(after) if after != before => {
                    changes.push((path.clone(), format!("was {before}, is {after}")));
                }
                Some(_) => {}
            }
        }
        let added = now.0.iter().filter(|(path, _)| !self.0.contains_key(*path));
        changes.extend(added.map(|(path, state)| (path.clone(), format!("is new: {state}"))));
        changes
    }
}
