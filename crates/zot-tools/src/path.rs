//! Turns the path a model wrote into the one path that is used.
//!
//! All tools resolve through here, so that the [`Jail`] has one place to say no.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::file::Place;
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
        "{}{} is outside of the directory zot is confined to, {}; the user can lift this with /unjail",
        path.display(), leading_to(target), directory.display()
    )]
    Outside {
        path: PathBuf,
        /// Where links on the way lead to, if there are any.
        target: Option<PathBuf>,
        directory: PathBuf,
    },
}

impl PathResolver {
    /// A resolver for the absolute directory `cwd`; `home` is what `~` stands for.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
            jail: None,
        }
    }

    /// Resolves to nothing outside of `jail` while that is closed.
    #[must_use]
    pub fn within(mut self, jail: Arc<Jail>) -> Self {
        self.jail = Some(jail);
        self
    }

    pub(crate) fn jail(&self) -> Option<&Jail> {
        self.jail.as_deref()
    }

    /// Where the file `requested` is, if it may be used.
    pub(crate) fn locate(&self, requested: &str, access: Access) -> Result<Place, PathError> {
        let path = self.resolve(requested)?;
        match self.jail().and_then(Jail::walls) {
            Some(walls) => walls.admit(path, access),
            None => Ok(Place::Anywhere(path)),
        }
    }

    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The absolute path `requested` stands for, without `.` and `..`.
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
