//! The files of this repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Directories without files of ours.
const SKIPPED: [&str; 4] = ["node_modules", "__pycache__", "corpus", "artifacts"];

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = manifest.ancestors().nth(2);
    root.unwrap_or(manifest).to_owned()
}

/// Returns every file below `directory` that `wanted` accepts, sorted. Skips build output, dependencies and
/// hidden directories.
pub fn files(directory: &Path, wanted: impl Fn(&Path) -> bool) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            let path = entry.path();
            if kind.is_dir() && !is_skipped(&entry.file_name().to_string_lossy()) {
                directories.push(path);
            } else if kind.is_file() && wanted(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn is_skipped(name: &str) -> bool {
    name.starts_with('.')
        || name == "target"
        || name.starts_with("target-")
        || SKIPPED.contains(&name)
}

/// Returns whether `path` has one of `extensions`.
pub fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| extensions.contains(&extension))
}

/// Returns `path` relative to `root`, for messages.
pub fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root)
        .unwrap_or(path)
        .display()
        .to_string()
}
