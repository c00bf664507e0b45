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
            let touches = |protected: &PathBuf| {
                let is_around = protected.starts_with(shown) && !inside.as_os_str().is_empty();
                shown.starts_with(protected) || is_around
            };
            if self.protected.iter().any(touches) {
                return Err(Refusal::Protected);
            }
        }
        Ok(Admitted {
            root: place.real.clone(),
            inside: inside.to_owned(),
        })
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

/// Joins without a trailing slash.
fn join(root: &Path, inside: &Path) -> PathBuf {
    match inside.as_os_str().is_empty() {
        true => root.to_owned(),
        false => root.join(inside),
    }
}
