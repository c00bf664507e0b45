//! What a program leaves in the temporary directories of its sandbox.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The files below a directory, each as it was.
#[derive(Debug, Default)]
pub(super) struct Contents(BTreeMap<PathBuf, Identity>);

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
    /// Lists everything below `root` except `path`.
    pub(super) fn except(root: &Path, path: Option<&Path>) -> io::Result<Self> {
        let mut contents = Self::default();
        let mut directories = vec![root.to_owned()];
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
                contents.0.insert(entry.path(), Identity::of(&found));
            }
        }
        Ok(contents)
    }

    /// Removes everything below `root` that is not part of it; returns whether it is all there, unchanged.
    pub(super) fn restore(&self, root: &Path) -> io::Result<bool> {
        let mut seen = 0;
        let mut directories = vec![root.to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(directory)? {
                let path = entry?.path();
                // Without following links.
                let found = fs::symlink_metadata(&path)?;
                match self.0.get(&path) {
                    Some(before) if *before == Identity::of(&found) => {
                        seen += 1;
                        if found.is_dir() {
                            directories.push(path);
                        }
                    }
                    Some(_) => return Ok(false),
                    None if found.is_dir() => fs::remove_dir_all(&path)?,
                    None => fs::remove_file(&path)?,
                }
            }
        }
        Ok(seen == self.0.len())
    }
}
