//! The directory tree on which a view is mounted: empty directories and files as mount points, and the
//! links of the system that lead to them.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::{Path, PathBuf};

use super::layout::{Access, Layout, Place};
use crate::launch::{PlannedMount, ViewPlan};

/// How many links the path of a place may have, as in the kernel.
const MAX_PATH_LINKS: usize = 40;

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
        };
        // The last one of a path decides: writable places come after readable ones.
        mounts.retain(|other| other.target != planned.target);
        if make_mount_point(&root, &mounts, &planned)? {
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
    Ok(ViewPlan {
        root,
        mounts,
        has_own_network,
    })
}

/// Makes the mount point of `planned`. Returns whether there is one.
fn make_mount_point(
    root: &Path,
    mounts: &[PlannedMount],
    planned: &PlannedMount,
) -> io::Result<bool> {
    let Ok(source) = fs::symlink_metadata(&planned.source) else {
        return Ok(false);
    };
    if planned.target == Path::new("/") {
        return Ok(true);
    }
    let point = match enclosing(mounts, &planned.target) {
        // What is seen there is what is outside, and so is the mount point.
        Some(outer) if outer.source == outer.target => {
            return Ok(fs::symlink_metadata(&planned.target).is_ok());
        }
        Some(outer) => {
            let inside = planned.target.strip_prefix(&outer.target);
            outer.source.join(inside.unwrap_or(&planned.target))
        }
        None => below(root, &planned.target),
    };
    if let Some(parent) = point.parent() {
        make_directories(parent)?;
    }
    let made = match source.is_dir() {
        true => make_directories(&point),
        false => fs::File::create_new(&point).map(drop),
    };
    match made {
        // A run before may have left it.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(true),
        Err(error) => Err(error),
        Ok(()) => Ok(true),
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
    /// Repeats the links on `path` that are outside of every mount.
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
            if enclosing(self.mounts, &reached).is_some() {
                return Ok(());
            }
            let Ok(target) = fs::read_link(&reached) else {
                continue;
            };
            links += 1;
            if links > MAX_PATH_LINKS {
                return Ok(());
            }
            let copy = below(self.root, &reached);
            if fs::symlink_metadata(&copy).is_err() {
                if let Some(parent) = copy.parent() {
                    make_directories(parent)?;
                }
                symlink(&target, &copy)?;
            }
            reached.pop();
            if target.is_absolute() {
                reached = PathBuf::from("/");
            }
            ahead.extend(steps(&target));
        }
        Ok(())
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
