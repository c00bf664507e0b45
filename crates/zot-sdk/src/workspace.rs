//! The directories an operation works with.

use std::env;
use std::path::{Path, PathBuf};

/// The directories an operation works with. Operations use these and never those of the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// `$ZOT_HOME`: credentials, settings, sessions, skills and extensions of the user.
    pub zot_home: PathBuf,
    /// The working directory, absolute and without a trailing slash.
    pub cwd: PathBuf,
    /// The user's home directory, if there is one.
    pub user_home: Option<PathBuf>,
}

impl Workspace {
    /// Returns the directories of this process. Reads `$ZOT_HOME`, `$XDG_STATE_HOME`, `$HOME` and the
    /// current directory.
    pub fn of_process() -> Self {
        Self {
            zot_home: zot_auth::zot_home(&|name| env::var(name).ok()),
            cwd: absolute(Path::new(".")),
            user_home: env::home_dir(),
        }
    }

    /// Changes the working directory.
    pub fn in_directory(self, cwd: &Path) -> Self {
        Self {
            cwd: absolute(cwd),
            ..self
        }
    }

    /// Changes `$ZOT_HOME`.
    pub fn with_zot_home(self, zot_home: impl Into<PathBuf>) -> Self {
        Self {
            zot_home: zot_home.into(),
            ..self
        }
    }

    pub(crate) fn cwd_text(&self) -> String {
        self.cwd.display().to_string()
    }
}

/// Returns a path in the form the agent uses: absolute, links not resolved, no trailing slash.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path)
        .map(|path| path.components().collect())
        .unwrap_or_default()
}
