//! Turns the path a model wrote into the one path that is used.
//!
//! All tools resolve through here, so that a sandbox policy has one place to say no.

use std::path::{Component, Path, PathBuf};

/// Resolves paths against a working directory.
#[derive(Debug, Clone)]
pub struct PathResolver {
    cwd: PathBuf,
    home: Option<PathBuf>,
}

/// A path that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    #[error("path is required")]
    Missing,
    #[error("path contains a NUL character")]
    ContainsNul,
}

impl PathResolver {
    /// A resolver for the absolute directory `cwd`; `home` is what `~` stands for.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
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
