//! Follows all links of a path, also of one that is not there yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::MAX_LINKS;

/// Where the absolute `path` leads to, without links and `..`.
///
/// What does not exist, and what lies behind it, is taken by its name. This decides nothing on its
/// own: when a link is too much or has just been made, whoever walks the result will run into it.
pub(crate) fn follow(path: &Path) -> PathBuf {
    let mut ahead: VecDeque<OsString> = names(path).collect();
    let mut reached = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            reached.pop();
            continue;
        }
        reached.push(name);
        let Ok(target) = reached.read_link() else {
            continue;
        };
        links += 1;
        if links > MAX_LINKS {
            reached.extend(ahead);
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
