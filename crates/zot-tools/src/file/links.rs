//! Follows all links of a path, even one that does not exist yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::MAX_LINKS;

/// Returns where the absolute `path` leads, without links and `..`.
///
/// Components that do not exist, and those after them, are kept by name. This is not a check: a
/// link that is one too many or was just created makes a later walk of the result fail.
pub(crate) fn follow(path: &Path) -> PathBuf {
    follow_with(path, |reached| reached.read_link().ok())
}

/// As [`follow`], with `read_link` to read the links.
pub(crate) fn follow_with(
    path: &Path,
    mut read_link: impl FnMut(&Path) -> Option<PathBuf>,
) -> PathBuf {
    let mut ahead: VecDeque<OsString> = names(path).collect();
    let mut reached = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            reached.pop();
            continue;
        }
        reached.push(name);
        let Some(target) = read_link(&reached) else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            reached.extend(ahead.iter().filter(|name| *name != ".."));
            return reached;
        }
        reached.pop();
        if target.is_absolute() {
            reached = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            ahead.push_front(name);
        }
    }
    reached
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}
