//! Stores files before they change, so that they can be restored.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::edit::read_whole;
use crate::file::Location;

/// The state of a file before a tool changed it.
#[derive(Debug, Clone, Copy)]
pub enum FileBefore<'a> {
    /// The file did not exist.
    Missing,
    Content(&'a [u8]),
    /// Too large to be kept, or not readable.
    Unknown,
}

/// Called before and after every change by `write` and `edit`. A failure prevents the change.
pub trait Checkpoint: Send + Sync {
    /// Called before a change. `path` is the file itself: links have been followed. The returned
    /// number is passed to [`after_change`](Self::after_change).
    fn before_change(
        &self,
        tool: &str,
        path: &Path,
        before: FileBefore<'_>,
        after: &[u8],
    ) -> Result<ChangeNumber, Box<dyn Error + Send + Sync>>;

    /// Called after the change has been made.
    fn after_change(&self, number: ChangeNumber, path: &Path);
}

/// The number of a change, assigned by the checkpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeNumber(pub u64);

/// A change that was announced and is about to be made.
pub(crate) struct Announced<'a> {
    checkpoint: &'a dyn Checkpoint,
    number: ChangeNumber,
    path: PathBuf,
}

impl Announced<'_> {
    /// Reports that it was made.
    pub(crate) fn made(self) {
        self.checkpoint.after_change(self.number, &self.path);
    }
}

/// The old content could not be stored, so the file was not changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}; the file was not changed")]
pub(crate) struct NotKept(Box<dyn Error + Send + Sync>);

/// Stores the current content of the file at `location`, if checkpoints are kept.
pub(crate) fn keep<'a>(
    checkpoint: Option<&'a dyn Checkpoint>,
    tool: &str,
    location: &Location,
    known: Option<&[u8]>,
    after: &[u8],
) -> Result<Option<Announced<'a>>, NotKept> {
    let Some(checkpoint) = checkpoint else {
        return Ok(None);
    };
    let path = location.target();
    let read;
    let before = match known {
        Some(content) => FileBefore::Content(content),
        None => match read_whole(location) {
            Ok(content) => {
                read = content;
                FileBefore::Content(&read)
            }
            Err(error) if error.is_missing() => FileBefore::Missing,
            Err(_) => FileBefore::Unknown,
        },
    };
    // A file that cannot be found or read is reported by the tool that writes to it.
    let number = checkpoint
        .before_change(tool, &path, before, after)
        .map_err(NotKept)?;
    Ok(Some(Announced {
        checkpoint,
        number,
        path,
    }))
}
