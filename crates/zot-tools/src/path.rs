//! Resolves the path that a model wrote.
//!
//! All tools resolve their paths here, so that the [`Jail`] is enforced in one place.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::file::Location;
use crate::jail::{Access, Jail};

/// Resolves paths against a working directory.
#[derive(Debug, Clone)]
pub struct PathResolver {
    cwd: PathBuf,
    home: Option<PathBuf>,
    jail: Option<Arc<Jail>>,
}

/// A path that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("path is required")]
    Missing,
    #[error("path contains a NUL character")]
    ContainsNul,
    #[error(
        "{}{} is outside of the directory zot is confined to, {}; only the user can lift this",
        path.display(), leading_to(target), directory.display()
    )]
    Outside {
        path: PathBuf,
        /// Where the path's links lead, if it has any.
        target: Option<PathBuf>,
        directory: PathBuf,
    },
}

impl PathResolver {
    /// Creates a resolver for the absolute directory `cwd`; `home` is the directory for `~`.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
            jail: None,
        }
    }

    /// Refuses paths outside of `jail` while it is closed.
    #[must_use]
    pub fn within(mut self, jail: Arc<Jail>) -> Self {
        self.jail = Some(jail);
        self
    }

    pub(crate) fn jail(&self) -> Option<&Jail> {
        self.jail.as_deref()
    }

    /// Returns the location of the file `requested`, if it may be used.
    pub(crate) fn locate(&self, requested: &str, access: Access) -> Result<Location, PathError> {
        let path = self.resolve(requested)?;
        match self.jail().and_then(Jail::walls) {
            Some(walls) => walls.admit(path, access),
            None => Ok(Location::Anywhere(path)),
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
        if requested.is_empty() {
            return Err(PathError::Missing);
        }
        if requested.contains('\0') {
            return Err(PathError::ContainsNul);
        }
        let expanded = match (&self.home, requested.strip_prefix('~')) {
            (Some(home), Some("")) => home.clone(),
            (Some(home), Some(rest)) if rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            _ => self.cwd.join(requested),
        };
        Ok(without_dots(&expanded))
    }
}

fn leading_to(target: &Option<PathBuf>) -> String {
    match target {
        Some(target) => format!(", which leads to {},", target.display()),
        None => String::new(),
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
