//! The history on disk: one JSON value per line, newest last.
//!
//! A prompt is a string, or an object when there is more to it: `text` with a character of the last
//! plane for each of `pasted`, and `literal` when it begins with something pasted. Several chats may
//! write at once: each holds a lock while it does.

#[cfg(test)]
mod tests;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use zot_files::{Durability, lock_file};

use crate::app::MAX_HISTORY_ENTRIES;
use crate::editor::Draft;

/// How long another chat may take to write its line.
///
/// Limit: the prompt is not saved for other chats.
const HISTORY_LOCK_PATIENCE: Duration = Duration::from_secs(1);
/// The largest prompt that is saved.
///
/// Limit: the prompt is not saved for other chats.
const MAX_SAVED_PROMPT_BYTES: usize = 64 * 1024;
/// The size at which the file is cut.
///
/// Limit: the file is cut to its newest prompts.
const MAX_HISTORY_FILE_BYTES: u64 = 4 * 1024 * 1024;
/// The size of a file that cannot be a history.
///
/// Limit: a larger file is not read.
const MAX_READ_HISTORY_BYTES: u64 = 64 * 1024 * 1024;
/// How much remains after a cut.
///
/// Limit: what remains of `history.jsonl` when it is cut.
const KEPT_HISTORY_BYTES: usize = 2 * 1024 * 1024;

/// Reads the history. Broken lines are skipped, and a missing file is empty.
pub(super) fn read(path: &Path) -> Vec<Draft> {
    let bytes = zot_files::read_bytes(path, MAX_READ_HISTORY_BYTES);
    let bytes = bytes.ok().flatten().unwrap_or_default();
    let lines = bytes.rsplit(|byte| *byte == b'\n');
    let mut entries: Vec<Draft> = lines.filter_map(entry).take(MAX_HISTORY_ENTRIES).collect();
    entries.reverse();
    entries
}

/// Adds a prompt.
pub(super) fn append(path: &Path, draft: &Draft) -> io::Result<()> {
    if draft.bytes() > MAX_SAVED_PROMPT_BYTES {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        zot_files::create_private_directory(directory)?;
    }
    let mut file = open_locked(path)?;
    if file.metadata()?.len() > MAX_HISTORY_FILE_BYTES {
        file = shorten(path, file)?;
    }
    // One write, so that a crash leaves a whole line or none. On a full disk a part may be written,
    // which would spoil the next line.
    let end = file.metadata()?.len();
    let written = file.write_all(format!("{}\n", line(draft)).as_bytes());
    if written.is_err() {
        let _ = file.set_len(end);
    }
    written
}

/// Opens the file and locks it for appending.
fn open_locked(path: &Path) -> io::Result<File> {
    loop {
        let mut options = OpenOptions::new();
        options.create(true).read(true).append(true).mode(0o600);
        let file = zot_files::open_as(path, &mut options)?;
        lock_file(&file, HISTORY_LOCK_PATIENCE)?;
        // The previous holder of the lock may have replaced the file.
        let is_same = fs::metadata(path)
            .and_then(|current| Ok(current.ino() == file.metadata()?.ino()))
            .unwrap_or(false);
        if is_same {
            return Ok(file);
        }
    }
}

/// Replaces the file with one that has only its last lines.
fn shorten(path: &Path, mut old: File) -> io::Result<File> {
    let mut bytes = Vec::new();
    old.read_to_end(&mut bytes)?;
    let surplus = bytes.len().saturating_sub(KEPT_HISTORY_BYTES);
    let start = bytes[surplus..].iter().position(|byte| *byte == b'\n');
    let start = start.map_or(bytes.len(), |at| surplus + at + 1);
    // The new file inherits the permissions, which an older version may have left too open.
    old.set_permissions(Permissions::from_mode(0o600))?;
    zot_files::replace_with(path, 0o600, Durability::ProcessEnd, |kept| {
        // No other process can hold the lock before the file has its name.
        lock_file(kept.get_ref(), Duration::ZERO)?;
        kept.write_all(&bytes[start..])
    })
}

fn entry(line: &[u8]) -> Option<Draft> {
    match serde_json::from_slice(line).ok()? {
        Value::String(text) => Some(text.into()),
        Value::Object(mut object) => {
            let Some(Value::String(text)) = object.remove("text") else {
                return None;
            };
            let pasted = match object.remove("pasted") {
                Some(pasted) => serde_json::from_value(pasted).ok()?,
                None => Vec::new(),
            };
            let is_literal = object.remove("literal") == Some(Value::Bool(true));
            Some(Draft::restored(text, pasted, is_literal))
        }
        _ => None,
    }
}

fn line(draft: &Draft) -> Value {
    let (text, pasted) = draft.parts();
    match pasted.is_empty() && !draft.begins_pasted() {
        true => Value::String(text),
        false => json!({"text": text, "pasted": pasted, "literal": draft.begins_pasted()}),
    }
}
