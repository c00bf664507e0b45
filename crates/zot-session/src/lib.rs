//! Conversations on disk: written so that a crash loses nothing acknowledged, read even when
//! damaged, listed, searched, forked, exported, and the files they changed restored.
//!
//! Each is an append-only file of JSON lines, in the original's format below
//! `$ZOT_HOME/sessions/<hash of the working directory>/`. This crate does not depend on the agent.

mod checkpoint;
mod error;
mod export;
mod fork;
mod id;
mod library;
mod line;
mod lock;
mod log;
mod meta;
mod portable;
mod reader;
mod recent;
mod record;
mod replica;
mod report;
mod search;
#[cfg(test)]
mod tests;

pub use checkpoint::{
    Before, Change, CheckpointError, Checkpoints, FileOutcome, IfChanged, Undone, UndoneFile,
};
pub use error::SessionError;
pub use export::{html, markdown};
pub use fork::{ForkError, fork};
pub use id::random_id;
pub use library::{FindError, Library, Scope, Summary};
pub use lock::{Holder, check_free};
pub use log::SessionLog;
pub use meta::SessionMeta;
pub use portable::{Exported, export, import};
pub use reader::{Session, TurnUsage, View, read};
pub use recent::last_prompts;
pub use replica::Replica;
pub use report::{DamagedLine, ReadReport, TornTail};
pub use search::{Hit, search};
/// The vocabulary of what sessions hold.
pub use zot_conversation as conversation;
pub use zot_files::Durability;
