//! Follows a growing file of lines.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::{Feed, READ_BYTES};
use zot_files::NotRegular;

use crate::record::{Attached, Detached};
use crate::source::SourceKind;
use crate::{Event, Hub};

/// How often a file is polled. Polling is cheap; notifications would need code for each system.
pub const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("cannot read {}: {found}: pipe it into `glasspane tail`", path.display())]
    NotAFile { path: PathBuf, found: NotRegular },
}

/// Reads a file from its start and continues as it grows.
///
/// When it is truncated or replaced, reading continues with the current content. An incomplete last line
/// is read once it is complete.
pub struct FileFeed {
    path: PathBuf,
    feed: Feed,
    open: Option<Open>,
    buffer: Vec<u8>,
}

struct Open {
    file: File,
    inode: (u64, u64),
    position: u64,
}

impl FileFeed {
    /// Opens the file, which need not exist yet but must be a regular file.
    pub fn new(
        hub: &Hub,
        path: &Path,
        attached: Attached,
        kind: Option<SourceKind>,
    ) -> Result<Self, FileError> {
        let mut this = Self {
            path: path.to_owned(),
            feed: Feed::new(hub, attached, kind),
            open: None,
            buffer: vec![0; READ_BYTES],
        };
        this.open = this.open_path()?;
        Ok(this)
    }

    /// Reads the file and follows it until cancelled or it cannot be read.
    pub async fn follow(mut self, cancel: CancellationToken) -> Result<(), FileError> {
        loop {
            let result = self.catch_up().await;
            if let Err(error) = result {
                let reason = error.to_string();
                self.feed.finish(Detached {
                    reason,
                    failed: true,
                    ..Detached::default()
                });
                return Err(error);
            }
            tokio::select! {
                () = cancel.cancelled() => {
                    // The agent may continue without us, so no end is reported.
                    return Ok(());
                }
                () = sleep(POLL_INTERVAL) => {}
            }
        }
    }

    /// Reads the file once, to its current end.
    pub async fn read_once(mut self) -> Result<(), FileError> {
        self.catch_up().await?;
        self.feed.finish(Detached {
            reason: "end of file".to_owned(),
            ..Detached::default()
        });
        Ok(())
    }

    async fn catch_up(&mut self) -> Result<(), FileError> {
        loop {
            self.read_to_end().await?;
            // The old file of a rotated log is read to its end first: it may still have been written to.
            if !self.replaced()? {
                return Ok(());
            }
        }
    }

    async fn read_to_end(&mut self) -> Result<(), FileError> {
        while let Some(open) = &mut self.open {
            let count =
                open.file
                    .read(&mut self.buffer)
                    .map_err(|source| FileError::Unreadable {
                        path: self.path.clone(),
                        source,
                    })?;
            if count == 0 {
                return Ok(());
            }
            open.position += count as u64;
            self.feed.feed(&self.buffer[..count]);
            tokio::task::yield_now().await;
        }
        Ok(())
    }

    /// Returns true if there is another file to read now, or the same from its start.
    fn replaced(&mut self) -> Result<bool, FileError> {
        let Some(open) = &mut self.open else {
            self.open = self.open_path()?;
            return Ok(self.open.is_some());
        };
        let unreadable = |source| FileError::Unreadable {
            path: self.path.clone(),
            source,
        };
        let length = open.file.metadata().map_err(unreadable)?.len();
        if length < open.position {
            open.file.seek(SeekFrom::Start(0)).map_err(unreadable)?;
            open.position = 0;
            self.feed.restart();
            self.feed
                .report_finding(crate::source::Finding::Event(Event::notice(
                    "the file was truncated: reading it from the start",
                )));
            return Ok(length > 0);
        }
        // During a rotation there may be no file for a moment.
        let Ok(metadata) = fs::metadata(&self.path) else {
            return Ok(false);
        };
        if (metadata.dev(), metadata.ino()) == open.inode {
            return Ok(false);
        }
        self.open = self.open_path()?;
        self.feed.restart();
        Ok(self.open.is_some())
    }

    fn open_path(&self) -> Result<Option<Open>, FileError> {
        let unreadable = |source| FileError::Unreadable {
            path: self.path.clone(),
            source,
        };
        let file = match zot_files::open_existing(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(match NotRegular::of(&error) {
                    Some(found) => FileError::NotAFile {
                        path: self.path.clone(),
                        found,
                    },
                    None => unreadable(error),
                });
            }
        };
        let metadata = file.metadata().map_err(unreadable)?;
        Ok(Some(Open {
            file,
            inode: (metadata.dev(), metadata.ino()),
            position: 0,
        }))
    }
}
