//! Finds what an extension wrote to standard error.

use std::io;
use std::path::PathBuf;

use zot_extension_contract::NameError;
use zot_extension_store::{Store, StoreError};

use crate::log_reader::LogReader;
use crate::workspace::Workspace;

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

/// Opens the log of the extension `name`, which must be installed or have run before.
pub fn open_log(workspace: &Workspace, name: &str) -> Result<LogReader, LogError> {
    let log = await_log(workspace, name)?;
    if !log.exists() {
        // An extension of the project or of --ext has a log only after it has run.
        Store::new(&workspace.zot_home).directory_of(name)?;
    }
    Ok(log)
}

/// Like [`open_log`], for an extension that may be installed or run later.
pub fn await_log(workspace: &Workspace, name: &str) -> Result<LogReader, LogError> {
    let path = Store::new(&workspace.zot_home).log_file(name)?;
    LogReader::open(path.clone()).map_err(|source| LogError::Read { path, source })
}
