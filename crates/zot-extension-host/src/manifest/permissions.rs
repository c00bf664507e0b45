//! What an extension asks to be allowed, and how much it may use.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// What an extension that declares permissions may do beyond running itself, reading its own
/// directory and the system's programs, and writing to its data directory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Permissions {
    /// Files and folders it may read: absolute, or below `$CWD`, `$HOME`, `~` or `$DATA_DIR`.
    pub fs_read: Vec<String>,
    /// Files and folders it may read and write.
    pub fs_write: Vec<String>,
    pub network: bool,
    pub exec: ExecPermission,
    /// Variables it is given beside the harmless ones.
    pub env: Vec<String>,
}

/// Which programs an extension may start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum ExecPermission {
    /// All, or only its own.
    Anything(bool),
    /// These, by name on `PATH` or by path.
    Only(Vec<String>),
}

impl Default for ExecPermission {
    fn default() -> Self {
        Self::Anything(false)
    }
}

/// What the folders in permissions stand for.
pub struct Places<'a> {
    pub cwd: &'a Path,
    pub home: Option<&'a Path>,
    pub data_dir: &'a Path,
}

impl Permissions {
    pub(super) fn check(&self) -> Result<(), String> {
        for path in self.fs_read.iter().chain(&self.fs_write) {
            if !path.starts_with('/') && variable_and_rest(path).is_none() {
                return Err(format!(
                    "{path:?} is neither absolute nor below $CWD, $HOME, ~ or $DATA_DIR"
                ));
            }
        }
        Ok(())
    }

    pub fn readable(&self, places: &Places<'_>) -> Vec<PathBuf> {
        places.resolve_all(&self.fs_read)
    }

    pub fn writable(&self, places: &Places<'_>) -> Vec<PathBuf> {
        places.resolve_all(&self.fs_write)
    }
}

impl Places<'_> {
    /// The paths that are known here; `$HOME` may be nowhere.
    fn resolve_all(&self, paths: &[String]) -> Vec<PathBuf> {
        paths.iter().filter_map(|path| self.resolve(path)).collect()
    }

    fn resolve(&self, path: &str) -> Option<PathBuf> {
        let Some((variable, rest)) = variable_and_rest(path) else {
            return Some(PathBuf::from(path));
        };
        let base = match variable {
            "$CWD" => self.cwd,
            "$DATA_DIR" => self.data_dir,
            _ => self.home?,
        };
        Some(base.join(rest))
    }
}

/// Splits `$HOME/notes` into `$HOME` and `notes`.
fn variable_and_rest(path: &str) -> Option<(&'static str, &str)> {
    ["$CWD", "$HOME", "$DATA_DIR", "~"]
        .into_iter()
        .find_map(|variable| {
            let rest = path.strip_prefix(variable)?;
            match rest.strip_prefix('/') {
                Some(rest) => Some((variable, rest)),
                None => rest.is_empty().then_some((variable, "")),
            }
        })
}

/// How much an extension may use. What is not given is limited by the host's own defaults; a
/// manifest can only tighten them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Memory of one process, in MiB.
    pub memory_mb: Option<u64>,
    pub frame_bytes: Option<usize>,
    pub frames_per_second: Option<u32>,
    pub log_bytes: Option<u64>,
}
