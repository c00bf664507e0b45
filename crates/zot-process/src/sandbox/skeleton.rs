//! The directory tree on which a view is mounted: empty directories and files as mount points, and the
//! links of the system that lead to them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use super::layout::{Access, Layout, Place};
use super::private;
use crate::launch::{PlannedMount, ViewPlan};

/// Where programs expect pseudo-terminals.
const TERMINALS: &str = "/dev/pts";

/// How many links the path of a place may have, as in the kernel.
const MAX_PATH_LINKS: usize = 40;

/// Links of the system that do not lead to a place.
const LINKS: [(&str, &str); 5] = [
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// Makes the mount points of `layout` below `root`, which must be empty. `paths` are further paths that
/// must lead where they lead outside, as far as that is visible.
pub(super) fn plan(
    layout: &Layout,
    root: PathBuf,
    paths: &[&Path],
    has_own_network: bool,
) -> io::Result<ViewPlan> {
    let mut places: Vec<&Place> = layout.places().iter().collect();
    places.sort_by_key(|place| place.shown.components().count());
    let mut mounts: Vec<PlannedMount> = Vec::with_capacity(places.len());
    for place in places {
        let planned = PlannedMount {
            source: place.real.clone(),
            target: place.shown.clone(),
            is_writable: place.access == Access::Write,
            changes: match place.is_overlaid {
                true => Some(new_changes(&root, mounts.len())?),
                false => None,
            },
        };
        // The last one of a path decides: writable places come after readable ones.
        mounts.retain(|other| other.target != planned.target);
        if make_mount_point(&root, &mut mounts, &planned)? {
            mounts.push(planned);
        }
    }
    let skeleton = Skeleton {
        root: &root,
        mounts: &mounts,
    };
    for link in [
        "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/var/run",
    ] {
        skeleton.add_links(Path::new(link))?;
    }
    for path in paths {
        skeleton.add_links(path)?;
    }
    for (name, target) in LINKS {
        skeleton.add_link(Path::new(name), Path::new(target))?;
    }
    // Below a directory of the user's own choice, `/dev` is that of the machine.
    let has_terminals = enclosing(&mounts, Path::new(TERMINALS)).is_none();
    if has_terminals {
        private::directory(&root, Path::new(TERMINALS.trim_start_matches('/')))?;
    }
    Ok(ViewPlan {
        terminals: has_terminals.then(|| below(&root, Path::new(TERMINALS))),
        root,
        mounts,
        has_own_network,
    })
}

/// Makes the directories in which changes are kept: beside `root`, out of sight.
fn new_changes(root: &Path, number: usize) -> io::Result<PathBuf> {
    let path = root.with_extension(format!("changes-{number}"));
    for name in ["upper", "work"] {
        make_directories(&path.join(name))?;
    }
    Ok(path)
}

/// Returns which of the directories in `changes` has what a child made; the other one is the kernel's.
pub(super) fn upper(changes: &Path) -> PathBuf {
    changes.join("upper")
}

/// Makes the mount point of `planned`. Returns whether there is one.
fn make_mount_point(
    root: &Path,
    mounts: &mut Vec<PlannedMount>,
    planned: &PlannedMount,
) -> io::Result<bool> {
    let Ok(source) = fs::symlink_metadata(&planned.source) else {
        return Ok(false);
    };
    if planned.target == Path::new("/") {
        return Ok(true);
    }
    let enclosing = enclosing(mounts, &planned.target);
    let (base, inside) = match enclosing {
        // What is seen there is what is outside, and so is the mount point.
        Some(outer) if outer.source == outer.target => {
            return Ok(fs::symlink_metadata(&planned.target).is_ok());
        }
        Some(outer) => (outer.clone(), planned.target.strip_prefix(&outer.target)),
        None => (
            PlannedMount {
                source: root.to_owned(),
                target: PathBuf::from("/"),
                is_writable: false,
                changes: None,
            },
            planned.target.strip_prefix("/"),
        ),
    };
    let Ok(inside) = inside else {
        return Ok(false);
    };
    if inside.as_os_str().is_empty() {
        return Ok(true);
    }
    let made = match source.is_dir() {
        true => private::directory(&base.source, inside),
        false => private::file(&base.source, inside),
    };
    if made.is_err() {
        // A child has put something else there. It does not see the place then.
        return Ok(false);
    }
    if base.is_writable {
        hold_directories(mounts, &base, inside);
    }
    Ok(true)
}

/// Mounts the directories around a mount point on themselves. A child could rename them otherwise, and
/// the mount point with them.
fn hold_directories(mounts: &mut Vec<PlannedMount>, base: &PlannedMount, inside: &Path) {
    let mut around: Vec<&Path> = inside.ancestors().skip(1).collect();
    around.reverse();
    for directory in around {
        let target = base.target.join(directory);
        let is_known = mounts.iter().any(|mount| mount.target == target);
        if !is_known && !directory.as_os_str().is_empty() {
            mounts.push(PlannedMount {
                source: base.source.join(directory),
                target,
                is_writable: true,
                changes: None,
            });
        }
    }
}

fn make_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

fn enclosing<'a>(mounts: &'a [PlannedMount], path: &Path) -> Option<&'a PlannedMount> {
    mounts
        .iter()
        .filter(|mount| path.starts_with(&mount.target))
        .max_by_key(|mount| mount.target.components().count())
}

fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

struct Skeleton<'a> {
    root: &'a Path,
    mounts: &'a [PlannedMount],
}

impl Skeleton<'_> {
    /// Repeats the links on `path` that no mount shows.
    fn add_links(&self, path: &Path) -> io::Result<()> {
        let mut reached = PathBuf::from("/");
        let mut ahead: Vec<PathBuf> = steps(path);
        let mut links = 0;
        while let Some(step) = ahead.pop() {
            if step == Path::new("..") {
                reached.pop();
                continue;
            }
            reached.push(step);
            if self.copy_of(&reached).is_none() {
                return Ok(());
            }
            let Ok(target) = fs::read_link(&reached) else {
                continue;
            };
            links += 1;
            if links > MAX_PATH_LINKS {
                return Ok(());
            }
            self.add_link(&reached, &target)?;
            reached.pop();
            if target.is_absolute() {
                reached = PathBuf::from("/");
            }
            ahead.extend(steps(&target));
        }
        Ok(())
    }

    /// Returns where `path` of the view is made; `None` if it shows what is there outside.
    fn copy_of(&self, path: &Path) -> Option<PathBuf> {
        match enclosing(self.mounts, path) {
            None => Some(below(self.root, path)),
            Some(outer) if outer.source == outer.target => None,
            Some(outer) => Some(outer.source.join(path.strip_prefix(&outer.target).ok()?)),
        }
    }

    fn add_link(&self, path: &Path, target: &Path) -> io::Result<()> {
        let (base, inside) = match enclosing(self.mounts, path) {
            None => (self.root, path.strip_prefix("/")),
            Some(outer) if outer.source == outer.target => return Ok(()),
            Some(outer) => (outer.source.as_path(), path.strip_prefix(&outer.target)),
        };
        match inside {
            Ok(inside) if !inside.as_os_str().is_empty() => private::link(base, inside, target),
            _ => Ok(()),
        }
    }
}

/// Returns the steps of `path`, the last one first.
fn steps(path: &Path) -> Vec<PathBuf> {
    use std::path::Component::{Normal, ParentDir};
    let steps = path.components().rev();
    steps
        .filter(|step| matches!(step, Normal(_) | ParentDir))
        .map(|step| PathBuf::from(step.as_os_str()))
        .collect()
}
