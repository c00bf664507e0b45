//! The conversation on disk: an append-only file of one JSON record per line.
//!
//! The file's place, name and records are those of the original zot, so that either program's
//! files are readable by the other.

mod log;
mod record;

pub use log::{SessionError, SessionLog, SessionMeta};
