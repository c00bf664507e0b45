//! Remembers the summaries of files, so that listing ten thousand sessions takes ten thousand
//! `stat`s only.
//!
//! `sessions/index.jsonl` can be deleted at any time: it is rebuilt. An entry is valid only while
//! the size and modification time of its file are unchanged.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use zot_conversation::Timestamp;
use zot_files::Durability;

use super::{Found, Scope, Summary};

/// A larger index is not read: a row takes less than a kilobyte.
///
/// Limit: the index is rebuilt.
const MAX_INDEX_BYTES: u64 = 256 << 20;
const FILE: &str = "index.jsonl";

/// The format of the entries; those of another version are ignored.
const VERSION: u32 = 2;

/// Fewer files are read by a single thread.
const WORTH_A_THREAD: usize = 32;

/// A summary without most of its field names, which would take half of the file.
#[derive(Serialize, Deserialize)]
struct Row<'a> {
    v: u32,
    /// The path below the sessions directory.
    #[serde(borrow)]
    file: Cow<'a, str>,
    bytes: u64,
    modified_ns: u64,
    #[serde(borrow)]
    texts: Texts<'a>,
    messages: u64,
    prompts: u64,
    /// Input, output, read from and written to a cache.
    tokens: [u64; 4],
    cost_usd: f64,
    parent: Option<String>,
    fork_point: Option<u64>,
    damaged: bool,
}

/// The id, the working directory, the provider, the model, the start time, the title.
#[derive(Serialize, Deserialize)]
struct Texts<'a>(
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
);

impl<'a> Row<'a> {
    fn new(file: &'a str, modified_ns: u64, summary: &'a Summary) -> Self {
        Self {
            v: VERSION,
            file: file.into(),
            bytes: summary.bytes,
            modified_ns,
            texts: Texts(
                summary.id.as_str().into(),
                summary.cwd.as_str().into(),
                summary.provider.as_str().into(),
                summary.model.as_str().into(),
                summary.started.as_str().into(),
                summary.title.as_str().into(),
            ),
            messages: summary.messages,
            prompts: summary.prompts,
            tokens: [
                summary.input_tokens,
                summary.output_tokens,
                summary.cache_read_tokens,
                summary.cache_write_tokens,
            ],
            cost_usd: summary.cost_usd,
            parent: summary.parent.clone(),
            fork_point: summary.fork_point,
            damaged: summary.damaged,
        }
    }

    /// Returns the summary of the file at `path`.
    fn summary(self, path: PathBuf, modified: SystemTime) -> Summary {
        let Texts(id, cwd, provider, model, started, title) = self.texts;
        let [
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
        ] = self.tokens;
        Summary {
            id: id.into_owned(),
            path,
            cwd: cwd.into_owned(),
            provider: provider.into_owned(),
            model: model.into_owned(),
            started: started.into_owned(),
            modified: Timestamp::try_from(modified).unwrap_or_default(),
            messages: self.messages,
            prompts: self.prompts,
            title: title.into_owned(),
            input_tokens,
            output_tokens,
            cache_read_tokens,
            cache_write_tokens,
            cost_usd: self.cost_usd,
            parent: self.parent,
            fork_point: self.fork_point,
            damaged: self.damaged,
            bytes: self.bytes,
        }
    }
}

/// Returns the summaries of `files`, from the index where it is valid.
///
/// A damaged or oversized index is rebuilt. One that is not a regular file is left alone: zot did
/// not create it.
pub(super) fn summaries(
    root: &Path,
    files: Vec<Found>,
    scope: Scope<'_>,
) -> io::Result<Vec<Summary>> {
    let path = root.join(FILE);
    zot_files::check_regular(&path).map_err(|error| {
        let problem = format!(
            "{}: {error}: remove it; zot makes a new one",
            path.display()
        );
        io::Error::new(error.kind(), problem)
    })?;
    let index = zot_files::read_bytes(&path, MAX_INDEX_BYTES);
    let index = index.ok().flatten().unwrap_or_default();
    let mut known = rows(&index);
    let mut fresh = Vec::with_capacity(files.len());
    let mut stale = Vec::new();
    for file in files {
        match known.remove(below(root, &file.path).as_ref()) {
            Some(row)
                if row.bytes == file.bytes && row.modified_ns == nanoseconds(file.modified) =>
            {
                fresh.push(row.summary(file.path, file.modified));
            }
            _ => stale.push(file),
        }
    }
    // What is left belongs to other directories or deleted files.
    let gone = scope == Scope::All && !known.is_empty();
    let outdated = gone || !stale.is_empty();
    fresh.extend(read(&stale));
    if outdated {
        if scope == Scope::All {
            known.clear();
        }
        // The list is shown even if it could not be stored.
        let _ = store(root, &fresh, known.values());
    }
    // A process that was killed right after creating the file leaves one without a message.
    fresh.retain(|summary| summary.messages > 0 || summary.damaged);
    Ok(fresh)
}

/// Returns the entries of an index by their files.
fn rows(index: &[u8]) -> HashMap<String, Row<'_>> {
    let lines = index.split(|byte| *byte == b'\n');
    lines
        .filter_map(|line| serde_json::from_slice::<Row<'_>>(line).ok())
        .filter(|row| row.v == VERSION)
        .map(|row| (row.file.clone().into_owned(), row))
        .collect()
}

/// Replaces the index. If two processes do so at once, one wins and the other's work is redone.
fn store<'a>(
    root: &Path,
    summaries: &[Summary],
    others: impl Iterator<Item = &'a Row<'a>>,
) -> io::Result<()> {
    // A lost index is rebuilt.
    let durability = Durability::ProcessEnd;
    zot_files::replace_with(&root.join(FILE), 0o600, durability, |mut writer| {
        for summary in summaries {
            let file = below(root, &summary.path);
            let modified_ns = nanoseconds(summary.modified.into());
            let row = Row::new(&file, modified_ns, summary);
            serde_json::to_writer(&mut writer, &row)?;
            writer.write_all(b"\n")?;
        }
        for row in others {
            serde_json::to_writer(&mut writer, row)?;
            writer.write_all(b"\n")?;
        }
        io::Result::Ok(())
    })
    .map(drop)
}

/// Reads files concurrently.
fn read(files: &[Found]) -> Vec<Summary> {
    let threads = match files.len() {
        0..WORTH_A_THREAD => 1,
        _ => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let next = AtomicUsize::new(0);
    let output = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        let mut own = Vec::new();
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            // Deleted in the meantime, or not readable: not in the list.
            own.extend(Summary::read(&file.path, file.modified).ok());
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

fn below<'a>(root: &Path, path: &'a Path) -> Cow<'a, str> {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy()
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
