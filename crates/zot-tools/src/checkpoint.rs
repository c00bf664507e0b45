//! Keeping files as they were, for whoever wants to bring them back.

use std::error::Error;
use std::path::{Path, PathBuf};

use crate::edit::read_whole;
use crate::file::Place;

/// What a file was before a tool changed it.
#[derive(Debug, Clone, Copy)]
pub enum FileBefore<'a> {
    /// There was none.
    Missing,
    Content(&'a [u8]),
    /// Too large to be kept, or not readable.
    Unknown,
}

/// Told of every change by `write` and `edit` before it is made. A failure prevents the change.
pub trait Checkpoint: Send + Sync {
    /// `path` is the file itself: links have been followed. What is returned is told again to
    /// [`after_change`](Self::after_change).
    fn before_change(
        &self,
        tool: &str,
        path: &Path,
        before: FileBefore<'_>,
        after: &[u8],
    ) -> Result<ChangeNumber, Box<dyn Error + Send + Sync>>;

    /// The change has been made.
    fn after_change(&self, number: ChangeNumber, path: &Path);
}

/// A change, as the checkpoints count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeNumber(pub u64);

/// A change that was announced and is about to be made.
pub(crate) struct Announced<'a> {
    checkpoint: &'a dyn Checkpoint,
    number: ChangeNumber,
    path: PathBuf,
}

impl Announced<'_> {
    /// Tells that it was made.
    pub(crate) fn made(self) {
        self.checkpoint.after_change(self.number, &self.path);
    }
}

/// What was about to be changed could not be kept, so it was not changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}; the file was not changed")]
pub(crate) struct NotKept(Box<dyn Error + Send + Sync>);

/// Keeps what `place` holds now, if anyone wants it.
pub(crate) fn keep<'a>(
    checkpoint: Option<&'a dyn Checkpoint>,
    tool: &str,
    place: &Place,
    known: Option<&[u8]>,
    after: &[u8],
) -> Result<Option<Announced<'a>>, NotKept> {
    let Some(checkpoint) = checkpoint else {
        return Ok(None);
    };
    let path = place.target();
    let read;
    let before = match known {
        Some(content) => FileBefore::Content(content),
        None => match read_whole(place) {
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
