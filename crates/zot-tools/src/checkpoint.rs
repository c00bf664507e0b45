//! Keeping files as they were, for whoever wants to bring them back.

use std::error::Error;
use std::path::Path;

use crate::edit::read_whole;
use crate::file::{FileError, Place};

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
    /// `path` is the file itself: links have been followed.
    fn before_change(
        &self,
        tool: &str,
        path: &Path,
        before: FileBefore<'_>,
        after: &[u8],
    ) -> Result<(), Box<dyn Error + Send + Sync>>;
}

/// What was about to be changed could not be kept, so it was not changed.
#[derive(Debug, thiserror::Error)]
#[error("{0}; the file was not changed")]
pub(crate) struct NotKept(Box<dyn Error + Send + Sync>);

/// Keeps what `place` holds now, if anyone wants it.
pub(crate) fn keep(
    checkpoint: Option<&dyn Checkpoint>,
    tool: &str,
    place: &Place,
    known: Option<&[u8]>,
    after: &[u8],
) -> Result<(), NotKept> {
    let Some(checkpoint) = checkpoint else {
        return Ok(());
    };
    // A file that cannot be found or read is the business of whoever writes to it.
    let path = place.target().unwrap_or_else(|_| place.shown().to_owned());
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
    checkpoint
        .before_change(tool, &path, before, after)
        .map_err(NotKept)
}

/// Writes a file as `write` does: a reader sees the old or the new content, links are followed,
/// permissions stay.
pub fn replace_file(path: &Path, content: &[u8]) -> Result<(), ReplaceError> {
    Ok(crate::file::replace(
        &Place::Anywhere(path.to_owned()),
        content,
    )?)
}

/// A file could not be replaced.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ReplaceError(#[from] FileError);
