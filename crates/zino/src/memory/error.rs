//! What can go wrong with stored memory.

use std::io;
use std::path::{Path, PathBuf};

use zot_wire::zino::ErrorCode;

use super::postgres::Contents;
use crate::postgres::{Refusal, Unavailable};

/// Why stored memory cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot use {}: {source}", .path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("{} is not a JSON array and is left unchanged: repair it or move it away", .0.display())]
    NotAnArray(PathBuf),
    #[error("{} keeps being changed by another program: try again", .0.display())]
    Busy(PathBuf),
    #[error("{} was cut off while it was written: run `zino mem --mend` first", .0.display())]
    Torn(PathBuf),
    #[error("{} is not empty: name a new directory", .0.display())]
    DirectoryNotEmpty(PathBuf),
    #[error("nothing to import in {}: name the data_dir of [mem]", .0.display())]
    NothingToImport(PathBuf),
    #[error("{place} is not empty: it has {contents}; `--replace` deletes them first")]
    NotEmpty { place: String, contents: Contents },
    #[error(
        "{0:?} cannot be the name of a file: rename the session or its profile in zino_session"
    )]
    NotAFileName(String),
    #[error("no memory with the id {0}")]
    NoSuchMemory(u64),
    #[error("the service is ending")]
    Stopped,
    #[error("the memory is full")]
    Full,
    #[error("call, owner and fence need a database: set [store] url, or leave them out")]
    NeedsDatabase,
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error("another turn is writing to the channel {0:?}: try again when it has ended")]
    ChannelBusy(String),
    #[error(
        "the hold on the channel {0:?} has ended or was taken over: nothing was stored; send the message again"
    )]
    Moved(String),
    #[error("the claim on the call {0:?} has ended: others were told that it was interrupted")]
    ClaimEnded(String),
    #[error("the channel id has {length} bytes: the database stores {limit} at most")]
    LongChannel { length: usize, limit: usize },
}

impl StoreError {
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| Self::Io {
            path: path.to_owned(),
            source,
        }
    }

    /// The error of a refused request about a channel.
    pub(super) fn of_refusal(refusal: Refusal, channel: &str) -> Self {
        match refusal {
            Refusal::Moved => Self::Moved(channel.to_owned()),
            Refusal::Busy => Self::ChannelBusy(channel.to_owned()),
            Refusal::Full => Self::Full,
            Refusal::Unavailable(error) => error.into(),
        }
    }

    /// The code for programs, where there is one.
    pub(super) fn code(&self) -> Option<ErrorCode> {
        match self {
            Self::Unavailable(_) | Self::Stopped => Some(ErrorCode::StoreUnavailable),
            Self::ChannelBusy(_) => Some(ErrorCode::ChannelBusy),
            Self::Moved(_) | Self::ClaimEnded(_) => Some(ErrorCode::Moved),
            _ => None,
        }
    }
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> Self {
        Self::of_refusal(refusal, "")
    }
}
