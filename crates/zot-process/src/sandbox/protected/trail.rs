//! Where links lead, and what they pass on the way.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// How many links a path may pass, as in the kernel.
///
/// Limit: programs cannot use a path with more of them.
const MAX_TRAIL_LINKS: usize = 40;

/// Returns every link that `path` passes, and where it leads, which need not exist. None of them has a link or
/// `..` in the part before its name. A path that is not absolute begins at `base`, which has no links.
pub(super) fn trail(base: &Path, path: &Path) -> Vec<PathBuf> {
    let mut passed = Vec::new();
    let mut ahead: VecDeque<OsString> = names(path).collect();
    let mut reached = match path.is_absolute() {
        true => PathBuf::from("/"),
        false => base.to_owned(),
    };
    while let Some(name) = ahead.pop_front() {
        if name == ".." {
            reached.pop();
            continue;
        }
        reached.push(name);
        let Ok(target) = fs::read_link(&reached) else {
            continue;
        };
        passed.push(reached.clone());
        if passed.len() > MAX_TRAIL_LINKS {
            return passed;
        }
        reached.pop();
        if target.is_absolute() {
            reached = PathBuf::from("/");
        }
        for name in names(&target).collect::<Vec<_>>().into_iter().rev() {
            ahead.push_front(name);
        }
    }
    passed.push(reached);
    passed
}

/// Returns every link that `path` passes.
pub(super) fn links(base: &Path, path: &Path) -> Vec<PathBuf> {
    let mut passed = trail(base, path);
    passed.pop();
    passed
}

/// Returns where `path` leads.
pub(super) fn end(base: &Path, path: &Path) -> PathBuf {
    trail(base, path).pop().unwrap_or_default()
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|component| match component {
        Component::Normal(_) | Component::ParentDir => Some(component.as_os_str().to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::trail;

    #[test]
    fn every_link_and_the_end_are_found() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let check = |path: &str, expected: &[&str]| {
            let expected: Vec<_> = expected.iter().map(|name| root.join(name)).collect();
            assert_eq!(trail(&root, Path::new(path)), expected, "{path}");
            assert_eq!(
                trail(Path::new("/none"), &root.join(path)),
                expected,
                "{path}"
            );
        };
        fs::create_dir(root.join("real")).unwrap();
        symlink("real", root.join("link")).unwrap();
        symlink("link/inner", root.join("chain")).unwrap();
        symlink("missing/deep", root.join("dangling")).unwrap();
        symlink(root.join("chain"), root.join("absolute")).unwrap();
        check("real/file", &["real/file"]);
        check("none", &["none"]);
        check("link/file", &["link", "real/file"]);
        check("chain", &["chain", "link", "real/inner"]);
        check("dangling/x", &["dangling", "missing/deep/x"]);
        check("link/../none", &["link", "none"]);
        check("absolute", &["absolute", "chain", "link", "real/inner"]);
        symlink("loop", root.join("loop")).unwrap();
        assert!(
            trail(&root, Path::new("loop"))
                .iter()
                .all(|path| *path == root.join("loop"))
        );
    }
}
