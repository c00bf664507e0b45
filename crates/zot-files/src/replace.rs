//! Replacing a file so that readers see the old content or the new, never a part.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Puts `content` in the place of the file at `path`.
///
/// A file that is there keeps its permissions, and a symbolic link keeps pointing to it; a new one
/// gets `mode`. The directory must exist.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // People keep settings in other places and link them here.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let mode = match fs::metadata(&target) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => mode,
    };
    let temporary = beside(&target);
    let written = write_whole(&temporary, content, mode)
        .and_then(|()| fs::rename(&temporary, &target))
        .and_then(|()| sync_directory(&target));
    if written.is_err() {
        // Already renamed, or of no use to anybody.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Makes `directory`, and those above it, for its owner alone. One that is there stays as it is.
pub fn create_private_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

fn beside(target: &Path) -> PathBuf {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(format!(".{}.{count}.tmp", std::process::id()));
    target.with_file_name(name)
}

fn write_whole(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    // What a process of the same id left when it was killed is in nobody's way.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    file.sync_data()
}

fn sync_directory(target: &Path) -> io::Result<()> {
    match target.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
