//! Remembers what is in the files, so that a list of ten thousand is a list of ten thousand `stat`s.
//!
//! `sessions/index.jsonl` can be deleted at any time: it is made again. An entry counts only while
//! the size and the time of its file are those it was made from.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::{Found, Scope, Summary};
use crate::id::random_id;

const FILE: &str = "index.jsonl";

/// The shape of the entries; one of another version is not read.
const VERSION: u32 = 1;

/// Fewer files are read by one thread.
const WORTH_A_THREAD: usize = 32;

#[derive(Serialize, Deserialize)]
struct Entry<'a> {
    v: u32,
    /// Below the sessions folder.
    file: std::borrow::Cow<'a, str>,
    bytes: u64,
    modified_ns: u64,
    summary: std::borrow::Cow<'a, Summary>,
}

/// The summaries of `files`, from the index where it is right.
pub(super) fn summaries(root: &Path, files: Vec<Found>, scope: Scope<'_>) -> Vec<Summary> {
    let mut known = load(root);
    let mut summaries = Vec::with_capacity(files.len());
    let mut stale = Vec::new();
    for file in files {
        let name = below(root, &file.path);
        match known.remove(&name) {
            Some((bytes, modified_ns, mut summary))
                if bytes == file.bytes && modified_ns == nanoseconds(file.modified) =>
            {
                summary.path = file.path;
                summaries.push((name, modified_ns, summary));
            }
            _ => stale.push((name, file)),
        }
    }
    let read_again = stale.len();
    summaries.extend(read(stale));
    // What is left belongs to other directories, or to files that are gone.
    let gone = match scope {
        Scope::All => known.len(),
        Scope::Directory(_) => 0,
    };
    if read_again > 0 || gone > 0 {
        let others = match scope {
            Scope::All => HashMap::new(),
            Scope::Directory(_) => known,
        };
        // A list is worth showing although it could not be remembered.
        let _ = store(root, &summaries, &others);
    }
    summaries
        .into_iter()
        .map(|(_, _, summary)| summary)
        // A process that was killed right after it made the file leaves one without a message.
        .filter(|summary| summary.messages > 0 || summary.damaged)
        .collect()
}

type Known = HashMap<String, (u64, u64, Summary)>;

fn load(root: &Path) -> Known {
    let text = fs::read(root.join(FILE)).unwrap_or_default();
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Entry<'_>>(line).ok())
        .filter(|entry| entry.v == VERSION)
        .map(|entry| {
            let summary = entry.summary.into_owned();
            let found = (entry.bytes, entry.modified_ns, summary);
            (entry.file.into_owned(), found)
        })
        .collect()
}

/// Replaces the index. Of two processes that do so at once, one wins and the other's work is redone.
fn store(root: &Path, summaries: &[(String, u64, Summary)], others: &Known) -> io::Result<()> {
    let temporary = root.join(format!("{FILE}.{}", random_id()));
    let write = || {
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        let mut writer = BufWriter::new(file);
        let summaries = summaries
            .iter()
            .map(|(name, modified_ns, summary)| (name, summary.bytes, *modified_ns, summary));
        let others = others
            .iter()
            .map(|(name, (bytes, modified_ns, summary))| (name, *bytes, *modified_ns, summary));
        for (name, bytes, modified_ns, summary) in summaries.chain(others) {
            let entry = Entry {
                v: VERSION,
                file: name.into(),
                bytes,
                modified_ns,
                summary: std::borrow::Cow::Borrowed(summary),
            };
            serde_json::to_writer(&mut writer, &entry)?;
            writer.write_all(b"\n")?;
        }
        writer.flush()?;
        fs::rename(&temporary, root.join(FILE))
    };
    let written = write();
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Reads files side by side.
fn read(files: Vec<(String, Found)>) -> Vec<(String, u64, Summary)> {
    let threads = match files.len() {
        0..WORTH_A_THREAD => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let next = AtomicUsize::new(0);
    let output = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        let mut own = Vec::new();
        while let Some((name, file)) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Deleted meanwhile, or not ours to read: not in the list.
            if let Ok(summary) = Summary::read(&file.path, file.modified) {
                own.push((name.clone(), nanoseconds(file.modified), summary));
            }
        }
        let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
        output.extend(own);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    output.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn below(root: &Path, path: &Path) -> String {
    let relative: PathBuf = path.strip_prefix(root).unwrap_or(path).into();
    relative.to_string_lossy().into_owned()
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
