//! The standard error of a child, and our remarks about it.

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use rustix::fs::OFlags;
use tokio::time::Instant;

use super::Throttle;

/// How many remarks per second are logged; a flood of mistakes is one mistake.
///
/// Limit: further remarks are counted, not written.
const REMARKS_PER_SECOND: u32 = 20;

/// A remark is one sentence, however long the names and ids in it are.
///
/// Limit: the remark is cut.
const MAX_REMARK_BYTES: usize = 1024;

/// A log of limited size: when it is full it becomes `.log.1`, replacing the previous one.
///
/// Errors when writing the log are ignored.
#[derive(Debug)]
pub struct ChildLog {
    path: PathBuf,
    file: Option<File>,
    size: u64,
    limit: u64,
    remarks: Throttle,
    unwritten_remarks: u64,
}

impl ChildLog {
    pub fn new(path: PathBuf, limit: u64) -> Self {
        Self {
            path,
            file: None,
            size: 0,
            limit,
            remarks: Throttle::new(REMARKS_PER_SECOND, Instant::now()),
            unwritten_remarks: 0,
        }
    }

    /// Appends what the child wrote.
    pub fn append(&mut self, bytes: &[u8]) {
        if self.file.is_none() {
            self.open();
        }
        let longer_than_any = usize::try_from(self.limit).unwrap_or(usize::MAX);
        for piece in bytes.chunks(longer_than_any.max(1)) {
            // Twice: the first may find a new log that another process has started, and filled.
            for _ in 0..2 {
                if self.size > 0 && self.size + piece.len() as u64 > self.limit {
                    self.rotate();
                }
            }
            if let Some(file) = &mut self.file
                && file.write_all(piece).is_ok()
            {
                self.size += piece.len() as u64;
            }
        }
    }

    /// Appends a remark about a frame. The rate is limited, because every frame may cause one.
    pub fn remark(&mut self, text: &str) {
        if !self.remarks.try_take(Instant::now()) {
            self.unwritten_remarks += 1;
            return;
        }
        self.note(text);
    }

    /// Appends a remark that must not be dropped.
    pub fn note(&mut self, text: &str) {
        let unwritten = std::mem::take(&mut self.unwritten_remarks);
        if unwritten > 0 {
            self.write_remark(&format!("{unwritten} more remarks left out"));
        }
        self.write_remark(text);
    }

    fn write_remark(&mut self, text: &str) {
        let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
        let text = one_short_line(text);
        self.append(format!("[zot {time}] {text}\n").as_bytes());
    }

    fn open(&mut self) {
        if let Ok((file, size)) = open_for_appending(&self.path) {
            self.file = Some(file);
            self.size = size;
        }
    }

    fn rotate(&mut self) {
        if self.is_in_place() {
            let mut older = self.path.clone().into_os_string();
            older.push(".1");
            if fs::rename(&self.path, older).is_err() {
                // Something is in the way: a file that only grows is worse than a lost log.
                let _ = fs::remove_file(&self.path);
            }
        }
        self.file = None;
        self.size = 0;
        self.open();
    }

    /// Returns whether the open log is still the one at its path: another process may have rotated it.
    fn is_in_place(&self) -> bool {
        let open = self.file.as_ref().and_then(|file| file.metadata().ok());
        let there = fs::symlink_metadata(&self.path).ok();
        let identity = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
        open.is_some() && open.map(identity) == there.map(identity)
    }
}

/// Shortens text from a child and removes control characters.
fn one_short_line(text: &str) -> String {
    let end = text.floor_char_boundary(MAX_REMARK_BYTES);
    let mut line = text[..end].replace(char::is_control, "\u{fffd}");
    if end < text.len() {
        line.push('…');
    }
    line
}

fn open_for_appending(path: &Path) -> io::Result<(File, u64)> {
    if let Some(directory) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    // Neither follow a link nor wait for the reader of a pipe.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    options.mode(0o600).custom_flags(flags.bits().cast_signed());
    let file = options.open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    Ok((file, metadata.len()))
}
