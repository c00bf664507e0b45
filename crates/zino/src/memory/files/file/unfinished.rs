//! A note beside a file about an append in progress.
//!
//! It is written before an append that could be cut off, and removed after it. It records which
//! elements at the end of a file belong to an append that was cut off: no caller has been told that they
//! are stored, and half of an exchange is worth less than none.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use zot_files::read_bytes;

use super::repair::{sibling, write_new};
use super::{Inspected, Locked};
use crate::memory::files::MAX_STORED_BYTES;

const PURPOSE: &str = "append";

/// Writes the note. The caller holds the file's lock. If it cannot be written, the append goes
/// ahead: without a note, a repair keeps all whole elements.
pub(super) fn announce(locked: &Locked, whole_end: u64, bytes: &[u8]) {
    let heading = format!("{whole_end} {}\n", bytes.len());
    let note = sibling(&locked.path, PURPOSE);
    let _ = write_new(&note, |file| {
        file.write_all(&[heading.as_bytes(), bytes].concat())
    });
}

/// Removes the note. The caller holds the file's lock.
pub(super) fn withdraw(path: &Path) {
    let _ = fs::remove_file(sibling(path, PURPOSE));
}

/// Returns where the append that was cut off began, if the end of the file matches the announced one.
pub(super) fn began_at(locked: &Locked, found: &Inspected) -> Option<u64> {
    let note = read_bytes(&sibling(&locked.path, PURPOSE), MAX_STORED_BYTES).ok()??;
    let line = note.iter().position(|byte| *byte == b'\n')?;
    let (heading, bytes) = (&note[..line], &note[line + 1..]);
    let (whole_end, length) = std::str::from_utf8(heading).ok()?.split_once(' ')?;
    let whole_end: u64 = whole_end.parse().ok()?;
    if bytes.len() != length.parse::<usize>().ok()? {
        return None;
    }
    let written = found.stamp.length.checked_sub(whole_end)?;
    let written = usize::try_from(written).ok()?;
    if written >= bytes.len() {
        return None;
    }
    let mut tail = vec![0; written];
    let count = locked.read_at(&mut tail, whole_end).ok()?;
    (tail[..count] == bytes[..written]).then_some(whole_end)
}
