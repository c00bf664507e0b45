//! Replacing a file so that readers see the old content or the new, never a part.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Directory, Durability};

/// Replaces the file at `path` by one with `content`, which survives a loss of power.
///
/// An existing file keeps its permissions, and a symbolic link keeps pointing to it; a new one gets
/// `mode`. The directory must exist.
pub fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    replace_with(path, mode, Durability::PowerLoss, |file| {
        file.write_all(content)
    })
    .map(drop)
}

/// Replaces the file at `path`, as [`replace`] does, by one with what `write` produces, and returns
/// the new file, open for reading and appending. A failure leaves the old file as it was.
pub fn replace_with<E: From<io::Error>>(
    path: &Path,
    mode: u32,
    durability: Durability,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<File, E> {
    // People keep settings elsewhere and link to them.
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
    /// Replaces what is called `name` in this directory by a file with `mode` and what `write`
    /// produces, and returns that file, open for reading and appending.
    pub fn replace_with<E: From<io::Error>>(
        &self,
        name: impl AsRef<OsStr>,
        mode: u32,
        durability: Durability,
        write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
    ) -> Result<File, E> {
        let temporary = temporary_name(name.as_ref());
        // A process with the same id may have been killed while it wrote.
        let _ = self.remove(&temporary);
        let replaced = self
            .write_new(&temporary, mode, durability, write)
            .and_then(|file| {
                self.rename(&temporary, Path::new(name.as_ref()))?;
                self.settle(durability)?;
                Ok(file)
            });
        if replaced.is_err() {
            // It may have been renamed already; otherwise it is of no use to anybody.
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
