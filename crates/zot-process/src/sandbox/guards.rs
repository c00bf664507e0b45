//! How the protected files of writable directories stay as they are during a run.
//!
//! In a view, those that exist are read-only mounts. The kernel removes such a mount when somebody outside
//! replaces the file, which is then reported. Those that do not exist are swept away when the run has ended.
//! Without namespaces nothing can be made read-only inside of a writable directory, so the files are
//! compared, and a change is reported.

use std::ffi::CString;
use std::fs::{self, Metadata};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use rustix::io::Errno;

use super::SandboxError;
use super::birth::Birth;
use super::layout::{Access, Layout, Place};
use crate::launch::{self, FileIdentity, Guard, Guarded, Sweeping, Swept};

/// How many files below a protected directory are compared.
///
/// Limit: a change in further ones goes unnoticed where namespaces are denied.
const MAX_GUARDED_FILES: usize = 512;

/// The protected paths of a sandbox, and the directories between them and their writable place.
#[derive(Debug, Default)]
pub(super) struct Watched {
    nodes: Vec<Node>,
    /// The writable directories of the user.
    roots: Vec<PathBuf>,
    found: Option<Found>,
    /// The runs that may not have ended.
    running: Vec<Weak<Sweeping>>,
}

#[derive(Debug)]
struct Node {
    path: PathBuf,
    /// The path once more, and its two parts, for system calls.
    whole: CString,
    directory: CString,
    name: CString,
    /// The directory it is in, if that is watched.
    parent: Option<usize>,
    is_protected: bool,
}

impl Watched {
    /// Takes over the runs that `former` knows of.
    pub(super) fn after(mut self, former: &mut Self) -> Self {
        self.running.append(&mut former.running);
        self
    }

    /// Returns the directories in which something is protected.
    pub(super) fn directories(&self) -> impl Iterator<Item = &Path> {
        let directories = self.nodes.iter().filter_map(|node| node.path.parent());
        directories.chain(self.roots.iter().map(PathBuf::as_path))
    }

    pub(super) fn of(layout: &Layout) -> io::Result<Self> {
        let outside = layout.places().iter();
        let outside = outside.filter(|place| place.shown == place.real);
        let mut watched = Self {
            roots: outside
                .filter(|place| place.access == Access::Write)
                .map(|place| place.shown.clone())
                .collect(),
            ..Self::default()
        };
        for path in layout.protected() {
            let places = layout.places().iter();
            let mut places: Vec<&Place> = places
                .filter(|place| path.starts_with(&place.shown))
                .collect();
            places.sort_by_key(|place| place.shown.components().count());
            // Children find something of the sandbox there, such as an empty directory for zot's own.
            if places.last().is_some_and(|place| place.shown != place.real) {
                continue;
            }
            let root = places
                .iter()
                .rfind(|place| place.shown == place.real && place.access == Access::Write);
            if let Some(root) = root {
                watched.add(path, &root.shown)?;
            }
        }
        Ok(watched)
    }

    fn add(&mut self, path: &Path, root: &Path) -> io::Result<()> {
        let mut parent = None;
        let mut reached = root.to_owned();
        for name in path.strip_prefix(root).unwrap_or(Path::new("")) {
            reached.push(name);
            let known = self.nodes.iter().position(|node| node.path == reached);
            parent = Some(match known {
                Some(known) => known,
                None => {
                    let directory = reached.parent().unwrap_or(root);
                    self.nodes.push(Node {
                        whole: CString::new(reached.as_os_str().as_bytes())?,
                        directory: CString::new(directory.as_os_str().as_bytes())?,
                        name: CString::new(name.as_bytes())?,
                        path: reached.clone(),
                        parent,
                        is_protected: false,
                    });
                    self.nodes.len() - 1
                }
            });
        }
        if let Some(node) = parent.and_then(|index| self.nodes.get_mut(index)) {
            node.is_protected = true;
        }
        Ok(())
    }

    /// Decides what is done for a run, by what is there now. What was found last time still holds if
    /// the directories are unchanged.
    pub(super) fn guards(&mut self, has_view: bool) -> Result<Guards, SandboxError> {
        self.running.retain(|run| run.strong_count() > 0);
        let found = match self.found.take() {
            Some(found) if launch::are_unchanged(&found.directories) => found,
            _ => Found::now(&self.nodes, &self.roots, &self.created_by_others())?,
        };
        let guards = self.found.insert(found).guards(&self.nodes, has_view);
        self.running.push(Arc::downgrade(&guards.sweeping));
        Ok(guards)
    }

    /// Returns the paths that runs which have not ended may have created: if they are there, they are not
    /// the user's.
    fn created_by_others(&self) -> Vec<PathBuf> {
        let runs = self.running.iter().filter_map(Weak::upgrade);
        let mut paths = Vec::new();
        for run in runs {
            paths.extend(run.swept.iter().map(Swept::path));
        }
        paths
    }
}

/// What was there when it was looked for.
#[derive(Debug)]
struct Found {
    mounted: Vec<Guarded>,
    swept: Arc<[Swept]>,
    directories: Arc<[(CString, Option<FileIdentity>)]>,
    /// The protected files that exist, by the index of their node.
    protected: Vec<(usize, Birth)>,
}

impl Found {
    fn now(
        nodes: &[Node],
        roots: &[PathBuf],
        created_by_others: &[PathBuf],
    ) -> Result<Self, SandboxError> {
        // Before everything else, so that a change in between is noticed.
        let mut directories: Vec<(CString, Option<FileIdentity>)> = Vec::new();
        for node in nodes {
            if let Some(directory) = node.path.parent()
                && let Ok(name) = CString::new(directory.as_os_str().as_bytes())
                && !directories.iter().any(|(known, _)| *known == name)
            {
                let found = look_at(directory)?;
                let identity = found.as_ref().map(FileIdentity::from);
                // A directory that is not there yet is below another one of these.
                if identity.is_some() {
                    directories.push((name, identity.filter(|found| !found.may_hide_changes())));
                }
            }
        }
        let mut found = Self {
            mounted: Vec::new(),
            swept: Arc::default(),
            directories: directories.into(),
            protected: Vec::new(),
        };
        let mut swept = Vec::new();
        // Whether something below could be created while the directory stays.
        let mut is_held: Vec<bool> = Vec::with_capacity(nodes.len());
        for (index, node) in nodes.iter().enumerate() {
            let is_reachable = node
                .parent
                .is_none_or(|parent| is_held.get(parent) == Some(&true));
            let is_theirs = created_by_others.contains(&node.path);
            is_held.push(is_reachable && found.add(index, node, is_theirs, &mut swept)?);
        }
        found.mounted.extend(roots.iter().filter_map(|root| {
            let metadata = root.symlink_metadata().ok()?;
            Some(Guarded {
                path: CString::new(root.as_os_str().as_bytes()).ok()?,
                identity: (metadata.dev(), metadata.ino()),
                guard: Guard::None,
            })
        }));
        found.swept = swept.into();
        Ok(found)
    }

    /// Returns whether what is inside of the path must be looked at, too.
    fn add(
        &mut self,
        index: usize,
        node: &Node,
        is_theirs: bool,
        swept: &mut Vec<Swept>,
    ) -> Result<bool, SandboxError> {
        let entry = |before| Swept {
            directory: node.directory.clone(),
            name: node.name.clone(),
            before,
        };
        Ok(match look_at(&node.path)? {
            Some(found) if !found.is_symlink() => {
                // A file in place of a directory around protected files would lead to others.
                let is_protected = node.is_protected || !found.is_dir();
                self.mounted.push(Guarded {
                    path: node.whole.clone(),
                    identity: (found.dev(), found.ino()),
                    guard: match is_protected {
                        true => Guard::ReadOnly,
                        // It must not be renamed with what is in it.
                        false => Guard::Held,
                    },
                });
                if is_theirs {
                    swept.push(entry(None));
                }
                if is_protected {
                    self.protected.push((index, Birth::of(&found)));
                }
                !is_protected
            }
            // Nothing, or a link, could be replaced by something of the program.
            found => {
                swept.push(entry(found.as_ref().map(FileIdentity::from)));
                false
            }
        })
    }

    fn guards(&self, nodes: &[Node], has_view: bool) -> Guards {
        let sweeping = Sweeping::new(Arc::clone(&self.swept), Arc::clone(&self.directories));
        let sweeping = Arc::new(sweeping);
        let existing = self
            .protected
            .iter()
            .filter_map(|(index, birth)| Some((nodes.get(*index)?, *birth)));
        if has_view {
            return Guards {
                mounted: self.mounted.clone(),
                sweeping,
                compared: existing
                    .map(|(node, birth)| (node.path.clone(), Before::Born(birth)))
                    .collect(),
            };
        }
        Guards {
            mounted: Vec::new(),
            sweeping,
            compared: existing
                .map(|(node, _)| (node.path.clone(), Before::State(state_of(&node.path))))
                .collect(),
        }
    }
}

/// Returns what is at `path`. Not being allowed to look is an error: it could have been taken away from us by
/// a command that wants a file to be taken for a missing one.
fn look_at(path: &Path) -> Result<Option<Metadata>, SandboxError> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if is_missing(&error) => Ok(None),
        // Nor can a command take it away, or use it.
        Err(_) if path.parent().is_some_and(is_of_others) => Ok(None),
        Err(source) => Err(SandboxError::Protected {
            path: path.to_owned(),
            source,
        }),
    }
}

/// Returns whether there cannot be a file. Links in a circle, and names that are too long, lead to none.
fn is_missing(error: &io::Error) -> bool {
    let errors = [Errno::NOENT, Errno::NOTDIR, Errno::LOOP, Errno::NAMETOOLONG];
    Errno::from_io_error(error).is_some_and(|error| errors.contains(&error))
}

fn is_of_others(directory: &Path) -> bool {
    let found = fs::symlink_metadata(directory);
    found.is_ok_and(|found| found.uid() != rustix::process::geteuid().as_raw())
}

/// A protected file before a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Before {
    /// It is read-only until it is replaced.
    Born(Birth),
    /// It can be changed.
    State(u64),
}

impl Before {
    pub(super) fn has_changed(self, path: &Path) -> bool {
        match self {
            Self::Born(before) => {
                let found = fs::symlink_metadata(path);
                // One that is gone was removed by somebody outside.
                found.is_ok_and(|found| Birth::of(&found) != before)
            }
            Self::State(before) => state_of(path) != before,
        }
    }
}

/// What is done for one run.
#[derive(Debug)]
pub(super) struct Guards {
    pub(super) mounted: Vec<Guarded>,
    pub(super) sweeping: Arc<Sweeping>,
    pub(super) compared: Vec<(PathBuf, Before)>,
}

/// Returns a number that changes with the file or anything in the directory.
fn state_of(path: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    let mut left = MAX_GUARDED_FILES;
    let mut ahead = vec![path.to_owned()];
    while let Some(path) = ahead.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else {
            continue;
        };
        path.hash(&mut hasher);
        (found.ino(), found.mode(), found.size()).hash(&mut hasher);
        (found.ctime(), found.ctime_nsec()).hash(&mut hasher);
        if !found.is_dir() || left == 0 {
            continue;
        }
        let mut entries: Vec<PathBuf> = match fs::read_dir(&path) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(_) => continue,
        };
        entries.sort_unstable();
        entries.truncate(left);
        left -= entries.len();
        ahead.extend(entries);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::look_at;

    #[test]
    fn only_what_is_missing_for_sure_counts_as_missing() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(look_at(&file).unwrap().is_some());
        assert!(look_at(&directory.path().join("none")).unwrap().is_none());
        assert!(look_at(&file.join("below")).unwrap().is_none());
        let long = directory.path().join("x".repeat(300));
        assert!(look_at(&long).unwrap().is_none());
        let circle = directory.path().join("circle");
        std::os::unix::fs::symlink("circle", &circle).unwrap();
        assert!(look_at(&circle.join("below")).unwrap().is_none());
        // As with a directory that a command has closed, but root notices, too.
        assert!(look_at(&directory.path().join("a\0b")).is_err());
    }
}
