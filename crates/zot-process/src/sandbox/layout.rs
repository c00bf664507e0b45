//! Where files are for a child, and which of them it may use: one table for commands and file tools.
//!
//! Commands see it through mounts and Landlock, file tools ask [`Layout::admit`]. A path of the child
//! is the same path outside, except below the places that are [replaced](Layout::real): the home
//! directory and `/tmp` are directories of the sandbox, where namespaces can show them.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What is about to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

/// A place and what may be done below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As the child names it, without links.
    pub shown: PathBuf,
    /// Where it is, without links.
    pub real: PathBuf,
    pub access: Access,
    /// Whether it is part of the system, which file tools may be refused.
    pub is_system: bool,
    /// Whether commands may change it without changing what is outside.
    pub is_overlaid: bool,
}

/// The places of a child.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Layout {
    places: Vec<Place>,
    /// Paths that are never written, whether they exist or not.
    protected: Vec<PathBuf>,
}

/// A file that may be used: the place it is below, and the path from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    pub root: PathBuf,
    pub inside: PathBuf,
}

/// Why a file may not be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is in no place.
    Outside,
    /// Its place can only be read.
    ReadOnly,
    /// It is, or contains, a file that is protected.
    Protected,
}

impl Layout {
    pub(crate) fn new(places: Vec<Place>, protected: Vec<PathBuf>) -> Self {
        Self { places, protected }
    }

    pub(crate) fn with_protected(&self, protected: Vec<PathBuf>) -> Self {
        Self::new(self.places.clone(), protected)
    }

    pub fn places(&self) -> &[Place] {
        &self.places
    }

    pub fn protected(&self) -> &[PathBuf] {
        &self.protected
    }

    /// Returns where the file is that a child calls `shown`. Links are not followed: a caller follows
    /// them one by one, because their targets are paths of the child, too.
    pub fn real(&self, shown: &Path) -> PathBuf {
        match self.innermost(shown, |_| true) {
            Some((place, inside)) if place.shown != place.real => join(&place.real, inside),
            _ => shown.to_owned(),
        }
    }

    /// Decides about the file that a child calls `shown`, which has no links and no `..`.
    ///
    /// `uses_system` is false where the files of the system are refused, as to the file tools in a jail.
    pub fn admit(
        &self,
        shown: &Path,
        access: Access,
        uses_system: bool,
    ) -> Result<Admitted, Refusal> {
        let Some((place, inside)) = self.innermost(shown, |place| uses_system || !place.is_system)
        else {
            return Err(Refusal::Outside);
        };
        if access == Access::Write {
            if place.access == Access::Read {
                return Err(Refusal::ReadOnly);
            }
            let is_around = |protected: &PathBuf| is_in(protected, shown);
            let is_around = !inside.as_os_str().is_empty() && self.protected.iter().any(is_around);
            if is_around || self.protection(shown).is_some() {
                return Err(Refusal::Protected);
            }
        }
        Ok(Admitted {
            root: place.real.clone(),
            inside: inside.to_owned(),
        })
    }

    /// Returns the protected path that `path` is, or is in.
    pub fn protection(&self, path: &Path) -> Option<&Path> {
        let mut protected = self.protected.iter().map(PathBuf::as_path);
        protected.find(|protected| is_in(path, protected))
    }

    /// Returns whether a child finds the file at `path` that is there outside.
    pub(crate) fn shows(&self, path: &Path) -> bool {
        let place = self.innermost(path, |_| true);
        place.is_some_and(|(place, inside)| join(&place.real, inside) == path)
    }

    /// Returns the innermost place that `shown` is in, and the path below it.
    fn innermost<'a, 'b>(
        &'a self,
        shown: &'b Path,
        counts: impl Fn(&Place) -> bool,
    ) -> Option<(&'a Place, &'b Path)> {
        // Comparing components costs much more, and file tools ask for every part of a path.
        let begins_with = |place: &&Place| {
            let (shown, place) = (shown.as_os_str(), place.shown.as_os_str());
            shown.as_bytes().starts_with(place.as_bytes())
        };
        self.places
            .iter()
            .filter(begins_with)
            .filter(|place| counts(place))
            .filter_map(|place| Some((place, shown.strip_prefix(&place.shown).ok()?)))
            .max_by_key(|(place, _)| place.shown.components().count())
    }
}

/// Returns whether `path` is `outer` or in it, where a file system may ignore case. Not every one does, but a
/// file whose name differs from a protected one only in that is hardly ever wanted.
fn is_in(path: &Path, outer: &Path) -> bool {
    let mut path = path.components();
    outer.components().all(|outer| {
        let step = path.next();
        step.is_some_and(|step| step.as_os_str().eq_ignore_ascii_case(outer.as_os_str()))
    })
}

/// Joins without a trailing slash.
fn join(root: &Path, inside: &Path) -> PathBuf {
    match inside.as_os_str().is_empty() {
        true => root.to_owned(),
        false => root.join(inside),
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Access, Layout, Place, Refusal};

    #[test]
    fn protected_names_are_compared_without_case() {
        let place = Place {
            shown: PathBuf::from("/project"),
            real: PathBuf::from("/project"),
            access: Access::Write,
            is_system: false,
            is_overlaid: false,
        };
        let protected = [".git/hooks", ".envrc"].map(|name| place.shown.join(name));
        let layout = Layout::new(vec![place], protected.to_vec());
        let refusal = |path: &str| {
            let admitted = layout.admit(&Path::new("/project").join(path), Access::Write, true);
            admitted.err()
        };
        for path in [
            ".git/hooks",
            ".GIT/hooks/x",
            ".Git",
            ".git/HOOKS/x/y",
            ".ENVRC",
        ] {
            assert_eq!(refusal(path), Some(Refusal::Protected), "{path}");
        }
        for path in [".git/HEAD", ".envrc2", ".env", "inner/.ENVRC"] {
            assert_eq!(refusal(path), None, "{path}");
        }
    }
}
