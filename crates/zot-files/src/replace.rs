//! Replaces files atomically: readers see the old content or the new, never a part.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Directory, Durability};

/// Replaces the content of the file at `path`. The new content survives a loss of power.
///
/// An existing file keeps its permissions, and a symbolic link to it stays; a new one gets `mode`. The directory must exist.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    replace_with(path, mode, Durability::PowerLoss, |file| {
        file.write_all(content)
    })
    .map(drop)
}

/// Replaces the file at `path` with the output of `write`, as [`replace`] does, and returns the new
/// file, open for reading and appending. A failure leaves the old file unchanged.
pub fn replace_with<E: From<io::Error>>(
    path: &Path,
    mode: u32,
    durability: Durability,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<File, E> {
    // People link to settings that they keep elsewhere.
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error.into()),
    };
    let mode = match fs::metadata(&target) {
        Ok(metadata) => metadata.permissions().mode() & 0o7777,
        Err(_) => mode,
    };
    let directory = match target.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let directory = Directory::open(&fs::canonicalize(directory)?)?;
    let name = target.file_name().unwrap_or_default();
    directory.replace_with(name, mode, durability, write)
}

impl Directory {
    /// Replaces `name` in this directory with a file that has `mode` and the output of `write`, and
    /// returns that file, open for reading and appending.
    pub fn replace_with<E: From<io::Error>>(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        durability: Durability,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
    ) -> Result<File, E> {
        let temporary = temporary_name(name.as_ref());
        // A killed process that had the same id may have left one.
        let _ = self.remove(&temporary);
        let replaced = self
            .write_new(&temporary, mode, durability, write)
            .and_then(|file| {
                self.rename(&temporary, Path::new(name.as_ref()))?;
                self.settle(durability)?;
                Ok(file)
            });
        if replaced.is_err() {
            // Absent if it was renamed already.
            let _ = self.remove(&temporary);
        }
        replaced
    }

    fn write_new<E: From<io::Error>>(
        &self,
        name: &OsStr,
        mode: u32,
        durability: Durability,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
    ) -> Result<File, E> {
        let mut output = BufWriter::new(self.create_for_appending(name, 0o600)?);
        write(&mut output)?;
        let file = output
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        durability.settle(&file)?;
        Ok(file)
    }
}

/// Creates `directory`, and those above it, for its owner only. An existing one is left unchanged.
pub fn create_private_directory(directory: &Path) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
}

fn temporary_name(target: &OsStr) -> OsString {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(target);
    name.push(format!(".{}.{count}.tmp", std::process::id()));
    name
}
