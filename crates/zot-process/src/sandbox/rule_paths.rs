//! Where the paths of rules lead. Programs that were confined by the same rules before may have put links
//! into what they could write, and such a link must not decide what is allowed.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// How many links a path may lead through, as in the kernel.
const MAX_RULE_LINKS: usize = 40;

/// Returns where `path` leads, which is absolute. A link inside one of the directories `writable` is an
/// error: a program may have made it.
pub fn resolve_rule(path: &Path, writable: &[PathBuf]) -> io::Result<PathBuf> {
    let mut reached = PathBuf::from("/");
    let mut ahead = Vec::new();
    push_steps(&mut ahead, path);
    let mut links = 0;
    while let Some(step) = ahead.pop() {
        if step == ".." {
            reached.pop();
            continue;
        }
        let next = reached.join(step);
        if !next.symlink_metadata()?.is_symlink() {
            reached = next;
            continue;
        }
        if writable.iter().any(|place| reached.starts_with(place)) {
            return Err(io::Error::other(format!(
                "{} is a link in a directory that programs may write to",
                next.display()
            )));
        }
        links += 1;
        if links > MAX_RULE_LINKS {
            return Err(io::Error::other("too many links"));
        }
        let target = next.read_link()?;
        if target.is_absolute() {
            reached = PathBuf::from("/");
        }
        push_steps(&mut ahead, &target);
    }
    Ok(reached)
}

fn push_steps(ahead: &mut Vec<OsString>, path: &Path) {
    let steps = path.components().rev().filter_map(|step| match step {
        Component::Normal(_) | Component::ParentDir => Some(step.as_os_str().to_owned()),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    });
    ahead.extend(steps);
}

/// Resolves the paths of rules.
pub(super) struct Paths<'a> {
    workspace: &'a Path,
    home: Option<&'a Path>,
    /// Where programs may have made links.
    writable: Vec<PathBuf>,
}

impl<'a> Paths<'a> {
    /// Takes the working directory and the user's home without links, and the rules about writing.
    pub(super) fn new(workspace: &'a Path, home: Option<&'a Path>, write: &[PathBuf]) -> Self {
        let mut paths = Self {
            workspace,
            home,
            writable: vec![workspace.to_owned()],
        };
        let named = write.iter().map(|path| paths.expanded(path));
        let named: Vec<PathBuf> = named.filter_map(|path| path.canonicalize().ok()).collect();
        paths.writable.extend(named);
        paths
    }

    /// Returns where `path` leads, which is absolute; `None` if that is nowhere, or if a program decides it.
    pub(super) fn follow(&self, path: &Path) -> Option<PathBuf> {
        resolve_rule(path, &self.writable).ok()
    }

    /// Returns those of `paths` that exist, without links. What does not exist cannot be mounted.
    pub(super) fn existing(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let paths = paths.iter().map(|path| self.expanded(path));
        paths.filter_map(|path| self.follow(&path)).collect()
    }

    /// Returns `paths` without links in the part that exists: what a rule names may be created later.
    pub(super) fn named(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let resolved = |path: &PathBuf| {
            let path = self.expanded(path);
            match resolve_rule(&path, &self.writable) {
                Ok(resolved) => Some(resolved),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Some(self.follow(path.parent()?)?.join(path.file_name()?))
                }
                Err(_) => None,
            }
        };
        paths.iter().filter_map(resolved).collect()
    }

    fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.workspace.join(path),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::resolve_rule;

    #[test]
    fn only_links_where_programs_may_write_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let data = root.join("data");
        fs::create_dir_all(data.join("inner")).unwrap();
        fs::create_dir(root.join("secret")).unwrap();
        symlink("data", root.join("to-data")).unwrap();
        symlink("../secret", data.join("planted")).unwrap();
        let writable = [data.clone()];
        let resolved = |path: &str| resolve_rule(&root.join(path), &writable).ok();
        assert_eq!(resolved("data/inner"), Some(data.join("inner")));
        assert_eq!(resolved("to-data/./inner"), Some(data.join("inner")));
        assert_eq!(
            resolved("to-data/inner/../../secret"),
            Some(root.join("secret"))
        );
        for path in ["data/planted", "to-data/planted", "to-data/planted/below"] {
            let error = resolve_rule(&root.join(path), &writable).unwrap_err();
            let expected = "data/planted is a link in a directory that programs may write to";
            assert!(error.to_string().ends_with(expected), "{error}");
            assert!(resolve_rule(&root.join("data/planted"), &[]).is_ok());
        }
        assert_eq!(resolved("data/none"), None);
    }
}
