//! Detects changes in the code of an extension.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use zot_extension_contract::{MANIFEST_FILE, Manifest};

/// File extensions of code. Data that an extension writes must not restart it.
const CODE: [&str; 21] = [
    "bash", "c", "cjs", "cpp", "cs", "go", "h", "java", "js", "jsx", "lua", "mjs", "php", "pl",
    "py", "rb", "rs", "sh", "toml", "ts", "tsx",
];

/// Directories that people do not edit.
const IGNORED: [&str; 7] = [
    ".git",
    "target",
    "node_modules",
    "__pycache__",
    ".venv",
    "venv",
    "dist",
];

/// How many directories are watched, more than an extension has.
const MAX_DIRECTORIES: usize = 1000;

/// The code of an extension at one moment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snapshot(BTreeMap<PathBuf, Stamp>);

#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            modified: metadata.modified().ok(),
            length: metadata.len(),
        }
    }
}

impl Snapshot {
    pub(super) fn take(directory: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut pending = vec![directory.to_owned()];
        let mut visited = 0;
        while let Some(current) = pending.pop() {
            visited += 1;
            let entries = fs::read_dir(&current).into_iter().flatten().flatten();
            for entry in entries {
                let (path, name) = (entry.path(), entry.file_name());
                // Links to directories are not followed: they may form cycles.
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                if kind.is_dir() {
                    let ignored = IGNORED.iter().any(|ignored| name == *ignored);
                    if !ignored && visited + pending.len() < MAX_DIRECTORIES {
                        pending.push(path);
                    }
                } else if is_code(&path)
                    && let Ok(metadata) = fs::metadata(&path)
                {
                    files.insert(path, Stamp::of(&metadata));
                }
            }
        }
        // The program may be in an ignored directory, or have no file extension.
        if let Ok(manifest) = Manifest::load(directory) {
            let program = manifest.program(directory);
            if program.is_absolute()
                && let Ok(metadata) = fs::metadata(&program)
            {
                files.insert(program, Stamp::of(&metadata));
            }
        }
        Self(files)
    }

    /// Returns a file that was changed, added or removed.
    pub(super) fn first_difference(&self, now: &Self) -> Option<PathBuf> {
        let changed = now
            .0
            .iter()
            .find(|(path, stamp)| self.0.get(*path) != Some(stamp));
        let gone = || self.0.iter().find(|(path, _)| !now.0.contains_key(*path));
        changed.or_else(gone).map(|(path, _)| path.clone())
    }
}

fn is_code(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    path.file_name().is_some_and(|name| name == MANIFEST_FILE)
        || ending.is_some_and(|ending| CODE.contains(&ending))
}
