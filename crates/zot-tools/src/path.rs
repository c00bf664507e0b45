//! Resolves the path that a model wrote.
//!
//! All tools resolve their paths here, so that the [`ToolSandbox`] is enforced in one place.

mod refusal;

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use zot_process::sandbox::{Access, SandboxError};

use crate::ToolSandbox;
use crate::file::Location;

pub use refusal::RefusedPath;

/// Resolves paths against a working directory.
#[derive(Debug, Clone)]
pub struct PathResolver {
    cwd: PathBuf,
    home: Option<PathBuf>,
    sandbox: Arc<ToolSandbox>,
}

/// A path that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PathError {
    #[error("path is required")]
    Missing,
    #[error("path contains a NUL character")]
    ContainsNul,
    #[error(transparent)]
    Refused(#[from] Box<RefusedPath>),
    #[error(
        "{} cannot be used in the sandbox: it holds secrets, and no rule shows it", .0.display()
    )]
    Masked(PathBuf),
    #[error("{0}; only the user can lift this")]
    NoSandbox(#[from] SandboxError),
}

impl PathResolver {
    /// Creates a resolver for the absolute directory `cwd`; `home` is the directory for `~`.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        let cwd = cwd.into();
        let sandbox = Arc::new(ToolSandbox::new(&cwd, home.clone()));
        Self { cwd, home, sandbox }
    }

    /// Refuses paths that `sandbox` does not allow.
    #[must_use]
    pub fn within(mut self, sandbox: Arc<ToolSandbox>) -> Self {
        self.sandbox = sandbox;
        self
    }

    pub(crate) fn sandbox(&self) -> &ToolSandbox {
        &self.sandbox
    }

    /// Returns the location of the file `requested`, if it may be used.
    pub(crate) fn locate(&self, requested: &str, access: Access) -> Result<Location, PathError> {
        match self.sandbox.walls()? {
            Some(walls) => {
                let path = self.expand(requested, walls.home())?;
                walls.admit(&path, without_dots(&path), access)
            }
            None => Ok(Location::Anywhere(self.resolve(requested)?)),
        }
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Returns the absolute path for `requested`, without `.` and `..`.
    ///
    /// A leading `~/` is the home directory (`./~` names a file called `~`). `..` after a symbolic
    /// link leaves the directory the link points to, as the system would, so that the path shown to
    /// the model and the file used are the same one. The last component may be a link.
    pub fn resolve(&self, requested: &str) -> Result<PathBuf, PathError> {
        Ok(without_dots(&self.expand(requested, self.home.as_deref())?))
    }

    fn expand(&self, requested: &str, home: Option<&Path>) -> Result<PathBuf, PathError> {
        if requested.is_empty() {
            return Err(PathError::Missing);
        }
        if requested.contains('\0') {
            return Err(PathError::ContainsNul);
        }
        Ok(match (home, requested.strip_prefix('~')) {
            (Some(home), Some("")) => home.to_owned(),
            (Some(home), Some(rest)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.cwd.join(requested),
        })
    }
}

fn without_dots(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                if resolved.is_symlink()
                    && let Ok(target) = resolved.canonicalize()
                {
                    resolved = target;
                }
                resolved.pop();
            }
            other => resolved.push(other),
        }
    }
    resolved
}

#[cfg(test)]
mod tests;
