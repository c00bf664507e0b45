//! Finds out whether a file is a protected one under another name.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use zot_process::sandbox::Layout;

/// The most files of a protected directory that are compared.
///
/// Limit: the message about a file with several names does not say that one is protected; it is not
/// changed in any case.
const MAX_COMPARED_FILES: usize = 1000;

/// Returns the protected path of `file`, which has several names.
pub(super) fn protected_name(layout: &Layout, file: &Metadata) -> Option<PathBuf> {
    let is_same = |other: &Metadata| (other.dev(), other.ino()) == (file.dev(), file.ino());
    layout.protected().iter().find_map(|protected| {
        let real = layout.real(protected);
        let metadata = fs::metadata(&real).ok()?;
        match metadata.is_dir() {
            true => files(&real)
                .any(|metadata| is_same(&metadata))
                .then(|| protected.clone()),
            false => is_same(&metadata).then(|| protected.clone()),
        }
    })
}

fn files(directory: &Path) -> impl Iterator<Item = Metadata> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let entries = entries.take(MAX_COMPARED_FILES);
    entries.filter_map(|entry| entry.metadata().ok())
}
