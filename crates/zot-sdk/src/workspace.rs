//! The directories an operation works with.

use std::env;
use std::path::{Path, PathBuf};

/// The directories an operation works with. Operations take every path from here; none of them looks
/// up the directories of the process on its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// `$ZOT_HOME`: credentials, settings, sessions, skills and extensions of the user.
    pub zot_home: PathBuf,
    /// The working directory, absolute and without a slash at the end.
    pub cwd: PathBuf,
    /// The user's home directory, if there is one.
    pub user_home: Option<PathBuf>,
}

impl Workspace {
    /// The directories of this process. Reads `$ZOT_HOME`, `$XDG_STATE_HOME`, `$HOME` and the
    /// current directory.
    pub fn of_process() -> Self {
        Self {
            zot_home: zot_auth::zot_home(&|name| env::var(name).ok()),
            cwd: spelled(Path::new(".")),
            user_home: env::home_dir(),
        }
    }

    /// The same user in another working directory.
    pub fn in_directory(self, cwd: &Path) -> Self {
        Self {
            cwd: spelled(cwd),
            ..self
        }
    }

    /// The same working directory with another `$ZOT_HOME`.
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

/// The working directory as the agent spells it: absolute, links not resolved, no slash at the end.
fn spelled(path: &Path) -> PathBuf {
    std::path::absolute(path)
        .map(|path| path.components().collect())
        .unwrap_or_default()
}
