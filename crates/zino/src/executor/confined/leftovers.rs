//! What a program leaves in the directories of its sandbox.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// What is in directories, each file as it was.
#[derive(Debug, Default)]
pub(super) struct Contents {
    files: BTreeMap<PathBuf, Identity>,
    /// Directories that can be cleaned.
    roots: Vec<PathBuf>,
    /// Empty directories that must not change at all, with the times of their last changes.
    unchanged: Vec<(PathBuf, (i64, i64))>,
}

/// Tells a file from another one that took its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Identity {
    device: u64,
    inode: u64,
    mode: u32,
    length: u64,
}

impl Identity {
    fn of(found: &Metadata) -> Self {
        Self {
            device: found.dev(),
            inode: found.ino(),
            mode: found.mode(),
            // That of a directory changes with its files.
            length: if found.is_dir() { 0 } else { found.len() },
        }
    }
}

impl Contents {
    /// Lists everything in `roots` except `path`. The directories `unchanged` are those of overlays: what
    /// is removed there does not disappear from the overlay.
    pub(super) fn of(
        roots: &[PathBuf],
        unchanged: &[PathBuf],
        path: Option<&Path>,
    ) -> io::Result<Self> {
        let mut contents = Self {
            roots: roots.to_vec(),
            ..Self::default()
        };
        for directory in unchanged {
            let changed_at = changed_at(directory)?;
            contents.unchanged.push((directory.clone(), changed_at));
        }
        let mut directories = Vec::new();
        for root in roots {
            contents.insert(root.clone(), &fs::symlink_metadata(root)?);
            directories.push(root.clone());
        }
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let entry = entry?;
                let found = entry.metadata()?;
                if path == Some(&entry.path()) {
                    continue;
                }
                if found.is_dir() {
                    directories.push(entry.path());
                }
                contents.insert(entry.path(), &found);
            }
        }
        Ok(contents)
    }

    fn insert(&mut self, path: PathBuf, found: &Metadata) {
        self.files.insert(path, Identity::of(found));
    }

    /// Removes everything that is not part of it; returns whether it is all there, unchanged.
    pub(super) fn restore(&self) -> io::Result<bool> {
        for (directory, before) in &self.unchanged {
            // Clocks of file systems are coarse.
            if changed_at(directory)? != *before || fs::read_dir(directory)?.next().is_some() {
                return Ok(false);
            }
        }
        let mut seen = 0;
        let mut paths = self.roots.clone();
        while let Some(path) = paths.pop() {
            // Without following links.
            let found = fs::symlink_metadata(&path)?;
            match self.files.get(&path) {
                Some(before) if *before == Identity::of(&found) => {
                    seen += 1;
                    if found.is_dir() {
                        for entry in fs::read_dir(path)? {
                            paths.push(entry?.path());
                        }
                    }
                }
                Some(_) => return Ok(false),
                None if found.is_dir() => zot_files::remove_tree(&path)?,
                None => fs::remove_file(&path)?,
            }
        }
        Ok(seen == self.files.len())
    }
}

/// Returns when a directory itself was last changed: its entries, its permissions or its attributes.
fn changed_at(directory: &Path) -> io::Result<(i64, i64)> {
    let found = fs::symlink_metadata(directory)?;
    Ok((found.ctime(), found.ctime_nsec()))
}
