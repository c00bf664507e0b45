//! Reads what an extension wrote to standard error.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use zot_extension_contract::NameError;
use zot_extension_store::{Store, StoreError};

use crate::workspace::Workspace;

/// The log of one extension, read from its beginning.
pub struct ExtensionLog {
    path: PathBuf,
    /// `None` until the extension has written something.
    file: Option<BufReader<File>>,
}

/// A log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The extension is not installed and has never run.
    #[error(transparent)]
    NotInstalled(#[from] StoreError),
    /// The log cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The path of the log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl ExtensionLog {
    /// Opens the log of the extension `name`, which must be installed or have run before.
    pub fn open(workspace: &Workspace, name: &str) -> Result<Self, LogError> {
        let log = Self::open_or_wait(workspace, name)?;
        if !log.exists() {
            // An extension of the project or of --ext has a log only after it has run.
            Store::new(&workspace.zot_home).directory_of(name)?;
        }
        Ok(log)
    }

    /// Like [`open`](Self::open), for an extension that may be installed or run later.
    pub fn open_or_wait(workspace: &Workspace, name: &str) -> Result<Self, LogError> {
        let path = Store::new(&workspace.zot_home).log_file(name)?;
        let file = match zot_files::open_existing(&path) {
            Ok(file) => Some(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(LogError::Read { path, source }),
        };
        Ok(Self { path, file })
    }

    /// Returns whether the extension has written anything yet.
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
