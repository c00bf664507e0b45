//! What a server wrote to standard error and logged.

use std::io;
use std::path::PathBuf;

use zot_mcp::configuration::check_server_name;

use super::change::ChangeError;
use super::configuration;
use crate::log_reader::LogReader;
use crate::workspace::Workspace;
use zot_mcp::configuration::ProjectServers;

/// Why a log cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ServerLogError {
    /// The name is invalid.
    #[error("{0}")]
    Name(String),
    /// No such server is configured, and none has run.
    #[error(transparent)]
    Unknown(ChangeError),
    /// The log cannot be read.
    #[error("{}: {source}", .path.display())]
    Read {
        /// The path of the log.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Opens the log of the server `name`, which must be configured or have run before.
pub fn open_log(workspace: &Workspace, name: &str) -> Result<LogReader, ServerLogError> {
    check_server_name(name).map_err(ServerLogError::Name)?;
    let path = zot_mcp::log_path(&workspace.zot_home, name);
    let reader = LogReader::open(path.clone());
    let reader = reader.map_err(|source| ServerLogError::Read { path, source })?;
    if reader.exists() {
        return Ok(reader);
    }
    let loaded = configuration(workspace, ProjectServers::Start);
    let names = loaded.servers.into_iter().map(|server| server.entry.name);
    let known: Vec<String> = names.collect();
    match known.iter().any(|known| known == name) {
        true => Ok(reader),
        false => Err(ServerLogError::Unknown(ChangeError::Unknown {
            name: name.to_owned(),
            known,
        })),
    }
}
