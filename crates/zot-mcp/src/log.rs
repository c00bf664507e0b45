//! `$ZOT_HOME/logs/mcp-<name>.log`: the standard error of a server, its log messages, and our remarks.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use zot_process::streams::ChildLog;

/// Limit: the log becomes `.log.1`, and a new one is begun.
const MAX_MCP_LOG_BYTES: u64 = 4 * 1024 * 1024;

/// Warnings of a server that were not shown yet.
///
/// Limit: further ones are only in its log.
const MAX_MCP_WARNINGS: usize = 64;

/// Returns where the log of a server is.
pub fn log_path(home: &Path, server: &str) -> PathBuf {
    let is_safe = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    let name = server.replace(|character| !is_safe(character), "_");
    home.join("logs").join(format!("mcp-{name}.log"))
}

/// The log of a server. Errors when writing it are ignored.
pub struct ServerLog {
    log: Mutex<ChildLog>,
    /// What the user has to hear as well, until somebody tells them.
    warnings: Mutex<Vec<String>>,
}

impl ServerLog {
    pub fn new(home: &Path, server: &str) -> Self {
        Self {
            log: Mutex::new(ChildLog::new(log_path(home, server), MAX_MCP_LOG_BYTES)),
            warnings: Mutex::default(),
        }
    }

    /// Appends what the server wrote to its standard error.
    pub fn append(&self, bytes: &[u8]) {
        self.with(|log| log.append(bytes));
    }

    /// Appends a remark that a server can cause as often as it likes; too many are counted instead.
    pub fn remark(&self, text: &str) {
        self.with(|log| log.remark(text));
    }

    /// Appends a remark that must not be dropped.
    pub fn note(&self, text: &str) {
        self.with(|log| log.note(text));
    }

    /// Appends a remark that the user has to hear as well.
    pub fn warn(&self, text: &str) {
        self.note(text);
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if warnings.len() < MAX_MCP_WARNINGS {
            warnings.push(text.to_owned());
        }
    }

    /// Returns the warnings since the last time.
    pub fn take_warnings(&self) -> Vec<String> {
        std::mem::take(&mut *self.warnings.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn with(&self, write: impl FnOnce(&mut ChildLog)) {
        write(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner));
    }
}
