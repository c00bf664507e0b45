//! Creates, repairs and replaces files, each atomically.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Access, BLOCK_BYTES, FILE_MODE, Inspected, Locked, Stamp, lock, stamp_of, unfinished};
use crate::memory::element::{CLOSING, Elements, OPENING, SEPARATOR};
use crate::memory::error::StoreError;
use crate::memory::files::array::Shape;
use crate::memory::files::directory::Directory;

/// How long a file that looks cut off must stay unchanged before it is repaired: the original truncates
/// a file and then rewrites it.
///
/// Limit: a file that looks cut off counts as cut off.
const SETTLING_TIME: Duration = Duration::from_millis(100);

/// Creates a file with its first elements; returns `false` when it exists already.
///
/// The caller holds the directory's lock.
pub(in crate::memory::files) fn create(
    path: &Path,
    elements: &Elements,
) -> Result<bool, StoreError> {
    let new = sibling(path, "new");
    let made = write_new(&new, |file| file.write_all(&elements.closed(OPENING))).and_then(|()| {
        match fs::hard_link(&new, path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            // A file system without links.
            Err(_) => fs::rename(&new, path).map(|()| true),
        }
    });
    let _ = fs::remove_file(&new);
    made.map_err(StoreError::io(path))
}

/// Replaces a file by what `fill` writes.
///
/// The caller holds the directory's lock, and the file's when there is one.
pub(in crate::memory::files) fn replace(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), StoreError> {
    let new = sibling(path, "new");
    let replaced = write_new(&new, |file| {
        fill(file)?;
        file.sync_data()
    })
    .and_then(|()| fs::rename(&new, path));
    if replaced.is_err() {
        let _ = fs::remove_file(&new);
    }
    replaced.map_err(StoreError::io(path))
}

/// Replaces the locked file by its first `kept` bytes and `bytes`.
///
/// Only the holder of the file's lock uses the temporary name.
pub(super) fn grow(locked: &Locked, kept: u64, bytes: &[u8]) -> Result<Stamp, StoreError> {
    let new = sibling(&locked.path, "grown");
    let grown = write_new(&new, |file| {
        let mut text = vec![0; kept as usize];
        locked.file.read_exact_at(&mut text, 0)?;
        text.extend_from_slice(bytes);
        file.write_all(&text)?;
        // Keep the permissions of the file.
        file.set_permissions(locked.file.metadata()?.permissions())?;
        let stamp = stamp_of(&file.metadata()?);
        fs::rename(&new, &locked.path).map(|()| stamp)
    });
    if grown.is_err() {
        let _ = fs::remove_file(&new);
    }
    grown.map_err(StoreError::io(&locked.path))
}

/// Rewrites a file as a canonical array. A copy of a torn file is kept beside it.
///
/// The caller holds the directory's lock and none on the file.
pub(in crate::memory::files) fn normalise(path: &Path) -> Result<(), StoreError> {
    let mut before: Option<Inspected> = None;
    for _ in 0..super::MAX_REPLACED_FILE_ATTEMPTS {
        let Some(locked) = lock(path, Access::Append)? else {
            return Ok(());
        };
        let found = locked.inspect(None, &mut |_, _| {})?;
        match found.shape {
            Shape::Canonical => return Ok(()),
            Shape::NotAnArray => return Err(StoreError::NotAnArray(path.to_owned())),
            Shape::Whole => return rewrite(&locked, found.whole_end),
            Shape::Torn => {
                if before.is_some_and(|before| before.stamp == found.stamp) {
                    let kept = sibling(path, "torn");
                    let _ = fs::remove_file(&kept);
                    // The copy is for people only: failing to make it must not stop the repair.
                    let _ = fs::hard_link(path, &kept);
                    // Keeps all whole elements except those of the append that was cut off.
                    let end = unfinished::began_at(&locked, &found).unwrap_or(found.whole_end);
                    rewrite(&locked, end)?;
                    unfinished::withdraw(path);
                    return Ok(());
                }
                before = Some(found);
                drop(locked);
                std::thread::sleep(SETTLING_TIME);
            }
        }
    }
    Err(StoreError::Busy(path.to_owned()))
}

/// Repairs a file whose end was cut off. Only the end of an intact one is read.
pub(in crate::memory::files) fn repair_torn(
    path: &Path,
    directory: &Directory,
) -> Result<bool, StoreError> {
    let Some(locked) = lock(path, Access::Read)? else {
        return Ok(false);
    };
    if !ends_torn(&locked)? {
        // Left by an append that was complete before its process was killed.
        unfinished::withdraw(path);
        return Ok(false);
    }
    drop(locked);
    let _guard = directory.lock()?;
    normalise(path).map(|()| true)
}

/// Whether a file's end was cut off and is not just being written by a program that takes no locks.
pub(in crate::memory::files) fn is_torn(path: &Path) -> Result<bool, StoreError> {
    let is_torn_now = || match lock(path, Access::Read)? {
        Some(locked) => ends_torn(&locked),
        None => Ok(false),
    };
    if !is_torn_now()? {
        return Ok(false);
    }
    std::thread::sleep(SETTLING_TIME);
    is_torn_now()
}

fn ends_torn(locked: &Locked) -> Result<bool, StoreError> {
    let length = locked.stamp()?.length;
    let mut ending = [0; CLOSING.len()];
    locked.read_at(&mut ending, length.saturating_sub(CLOSING.len() as u64))?;
    if ending == *CLOSING || ending == *b"[]" {
        return Ok(false);
    }
    let found = locked.inspect(None, &mut |_, _| {})?;
    Ok(found.shape == Shape::Torn)
}

/// Rewrites the complete elements before `end` in the canonical form.
fn rewrite(locked: &Locked, end: u64) -> Result<(), StoreError> {
    let mut starts = Vec::new();
    locked.inspect(None, &mut |start, bytes| {
        if start < end {
            starts.push((start, bytes.len()));
        }
    })?;
    replace(&locked.path, |file| {
        let mut file = io::BufWriter::with_capacity(BLOCK_BYTES, file);
        for (index, &(start, length)) in starts.iter().enumerate() {
            file.write_all(if index == 0 { OPENING } else { SEPARATOR })?;
            let mut bytes = vec![0; length];
            let count = locked
                .read_at(&mut bytes, start)
                .map_err(io::Error::other)?;
            bytes.truncate(count);
            file.write_all(&with_canonical_lines(bytes))?;
        }
        file.write_all(if starts.is_empty() { b"[]" } else { CLOSING })?;
        file.flush()
    })
}

/// Joins the lines of an element if one of them could be mistaken for the beginning of an element.
pub(in crate::memory::files) fn with_canonical_lines(bytes: Vec<u8>) -> Vec<u8> {
    let fits = |(index, &byte): (usize, &u8)| {
        let line = &bytes[index + 1..];
        byte != b'\n'
            || line.starts_with(b"   ")
            || line.starts_with(b"  }")
            || line.starts_with(b"  ]")
    };
    if bytes.iter().enumerate().all(fits) {
        return bytes;
    }
    bytes
        .iter()
        .map(|&byte| if byte == b'\n' { b' ' } else { byte })
        .collect()
}

pub(super) fn write_new<T>(
    path: &Path,
    fill: impl FnOnce(&mut File) -> io::Result<T>,
) -> io::Result<T> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true);
    let mut file = zot_files::open_itself(path, options.mode(FILE_MODE))?;
    fill(&mut file)
}

/// Returns a hidden path in the same directory.
pub(super) fn sibling(path: &Path, purpose: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{purpose}"))
}
