//! A second place for the records of a session.

use std::fmt::Debug;
use std::io;

/// Gets every byte that is written to a session file, before the write counts as done.
pub trait Replica: Debug + Send + Sync {
    /// Adds `bytes` at `position`, which is where the file ended before. After an error, the file is cut
    /// back to there.
    fn append(&self, position: u64, bytes: &[u8]) -> io::Result<()>;
}

/// Marks the error of a replica among those of the file.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct ReplicaFailed(pub(crate) io::Error);
