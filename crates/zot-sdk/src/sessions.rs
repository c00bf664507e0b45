//! Sessions on disk: list, search, show, fork, export, import, undo, delete.
//!
//! Every function works on the sessions below [`Workspace::zot_home`]. A session is named by its id,
//! the beginning of its id, or the path of its file. Reports implement [`Display`](std::fmt::Display)
//! with the text that `zot sessions` prints and the chat shows.
//!
//! ```
//! use zot_sdk::sessions::{self, ExportFormat, IfExists, Scope};
//! use zot_sdk::{Config, ModelChoice, Persistence, Runtime, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! # let directory = tempfile::tempdir()?;
//! # let (home, project) = (directory.path().join("home"), directory.path());
//! let workspace = Workspace::of_process().with_zot_home(&home).in_directory(project);
//! let runtime = Runtime::new(Config {
//!     model: ModelChoice::provider("offline"),
//!     home: Some(workspace.zot_home.clone()),
//!     cwd: Some(workspace.cwd.clone()),
//!     session: Persistence::SessionFile.into(),
//!     ..Config::default()
//! })?;
//! let mut events = runtime.prompt("say hello", Vec::new())?;
//! while events.next().await.is_some() {}
//!
//! let found = sessions::list(&workspace, Scope::Here)?;
//! let session = found.first().ok_or("expected one session")?;
//! let page = "hello.html".as_ref();
//! let report = sessions::export_to_file(
//!     &workspace,
//!     &session.id,
//!     ExportFormat::Html,
//!     page,
//!     IfExists::Refuse,
//! )?;
//! println!("{report}"); // hello.html: 2 messages, 4711 bytes
//! # Ok(()) }) }
//! ```

mod error;
mod export;
mod fork;
mod overview;
mod search;
mod statistics;
#[cfg(test)]
mod tests;
mod tree;
mod undo;

use std::io;
use std::path::PathBuf;

use zot_session::Library;

use crate::workspace::Workspace;

pub use crate::full::session_messages;
pub use crate::persistence::SessionInfo;
pub use error::{DeleteError, OperationError};
pub use export::{
    ExportFormat, ExportReport, ExportedSession, IfExists, ImportReport, export, export_to_file,
    import,
};
pub use fork::{ForkPoint, ForkReport, fork, fork_here};
pub use overview::{Overview, ShownSession, show};
pub use search::{SessionMatches, search};
pub use statistics::{Statistics, Totals, statistics};
pub use tree::{Tree, TreeNode, tree};
pub use undo::{UndoError, UndoReport, undo};
pub use zot_session::{
    DamagedLine, Durability, FileOutcome, FindError, ForkError, Hit, Holder, IfChanged, ReadReport,
    Session, SessionError, SessionLog, SessionMeta, Summary, TornTail, TurnUsage, Undone,
    UndoneFile, View, check_free, last_prompts, read,
};

/// The sessions an operation covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Those of the working directory.
    Here,
    /// Those of all directories.
    Everywhere,
}

/// Returns the sessions in `scope`, most recently changed first.
pub fn list(workspace: &Workspace, scope: Scope) -> io::Result<Vec<Summary>> {
    let library = library(workspace);
    match scope {
        Scope::Here => library.list(zot_session::Scope::Directory(&workspace.cwd_text())),
        Scope::Everywhere => library.list(zot_session::Scope::All),
    }
}

/// Returns the file of the session `name`: an id, the beginning of one, or a path.
pub fn find(workspace: &Workspace, name: &str) -> Result<PathBuf, FindError> {
    library(workspace).find(name)
}

/// Deletes sessions with all their files, and returns the session files.
///
/// Nothing is deleted unless every name identifies exactly one session.
pub fn delete(workspace: &Workspace, names: &[String]) -> Result<Vec<PathBuf>, DeleteError> {
    let library = library(workspace);
    let files = names
        .iter()
        .map(|name| library.find(name))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| DeleteError::new(Vec::new(), error.into()))?;
    let mut deleted = Vec::new();
    for file in files {
        if let Err(error) = library.delete(&file) {
            return Err(DeleteError::new(deleted, error.into()));
        }
        deleted.push(file);
    }
    Ok(deleted)
}

/// Returns the part of a session's id that people type.
pub fn short_id(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn library(workspace: &Workspace) -> Library {
    Library::new(workspace.zot_home.join("sessions"))
}

/// Returns `text` on one line, shortened to `limit` characters.
fn shortened_line(text: &str, limit: usize) -> String {
    let line = text.replace(['\n', '\r', '\t'], " ");
    if line.chars().count() <= limit {
        return line;
    }
    let kept = line.chars().take(limit.saturating_sub(1));
    kept.chain(['…']).collect()
}
