//! The files of a project, for the picker.

use std::path::Path;

use ignore::WalkBuilder;

/// More than anybody has in one project; the rest is not offered.
const MAX_FILES: usize = 300_000;

/// All files and folders below `root` that git would not ignore, folders with a slash.
pub(super) fn list(root: &Path) -> Vec<String> {
    let walk = WalkBuilder::new(root)
        .require_git(false)
        .hidden(true)
        .build();
    let mut files: Vec<String> = walk
        .flatten()
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?.to_str()?.to_owned();
            let is_folder = entry.file_type()?.is_dir();
            match path.is_empty() {
                true => None,
                false if is_folder => Some(format!("{path}/")),
                false => Some(path),
            }
        })
        .take(MAX_FILES)
        .collect();
    files.sort_unstable_by(|a, b| {
        let depth = |path: &str| path.matches('/').count();
        depth(a).cmp(&depth(b)).then_with(|| a.cmp(b))
    });
    files
}
