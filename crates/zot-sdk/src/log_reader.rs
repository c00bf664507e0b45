//! Reads a log that another process may be writing.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

/// A log, read from its beginning.
pub struct LogReader {
    path: PathBuf,
    /// `None` until something was written.
    file: Option<BufReader<File>>,
}

impl LogReader {
    /// Opens the log at `path`, which need not exist yet.
    pub(crate) fn open(path: PathBuf) -> io::Result<Self> {
        let file = match zot_files::open_existing(&path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self { path, file })
    }

    /// Returns whether anything was written yet.
    pub fn exists(&self) -> bool {
        self.file.is_some()
    }

    /// Copies the last `lines` lines.
    pub fn copy_last(&mut self, lines: usize, output: &mut dyn io::Write) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        let mut last = VecDeque::new();
        loop {
            let mut line = Vec::new();
            if file.read_until(b'\n', &mut line)? == 0 {
                break;
            }
            last.push_back(line);
            if last.len() > lines {
                last.pop_front();
            }
        }
        for line in last {
            output.write_all(&line)?;
        }
        output.flush()
    }

    /// Copies what was added since the last call, even if the file was replaced.
    pub fn copy_new(&mut self, mut output: &mut dyn io::Write) -> io::Result<()> {
        if self.file.is_none() {
            let file = zot_files::open_existing(&self.path);
            self.file = file.ok().map(BufReader::new);
        }
        let was_replaced = self.was_replaced();
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // After the check, so that the rest of a replaced file is not lost.
        io::copy(file, &mut output)?;
        output.flush()?;
        if was_replaced {
            self.file = None;
        }
        Ok(())
    }

    /// Returns whether the open file was replaced or truncated.
    fn was_replaced(&self) -> bool {
        let Some(file) = &self.file else {
            return false;
        };
        let (Ok(open), Ok(named)) = (file.get_ref().metadata(), fs::metadata(&self.path)) else {
            return false;
        };
        let same = |a: &Metadata, b: &Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
        let position = io::Seek::stream_position(&mut file.get_ref());
        !same(&open, &named) || position.is_ok_and(|position| position > open.len())
    }
}
