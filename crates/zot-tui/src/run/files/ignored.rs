//! Which files of a project are left out: those that git ignores, and hidden ones.
//!
//! The `ignore` crate matches, but does not read: it opens a file whatever it is, and a named pipe would
//! hang it. Anything that runs in the project can make one.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use ignore::{DirEntry, Match};

/// Hardly any ignore file is as large.
///
/// Limit: a larger one counts as missing.
const MAX_IGNORE_FILE_BYTES: u64 = 256 * 1024;

/// How much of all ignore files of a project is used. Compiled patterns take many times as much memory.
///
/// Limit: further ignore files count as missing.
const MAX_IGNORE_BYTES: u64 = 4 << 20;

/// The rules of the directories that have been entered so far.
pub(super) struct IgnoreRules {
    /// Only directories that have rules of their own, and the root.
    directories: RwLock<HashMap<PathBuf, Arc<DirectoryRules>>>,
    /// Of all projects of the user.
    global: Gitignore,
    bytes_left: AtomicU64,
}

struct DirectoryRules {
    above: Option<Arc<DirectoryRules>>,
    /// `.ignore`, which other programs use as well.
    ignore: Gitignore,
    /// `.gitignore`
    git_ignore: Gitignore,
    /// `.git/info/exclude`
    git_exclude: Gitignore,
}

impl IgnoreRules {
    /// Reads the rules of `root` and of the directories above.
    pub(super) fn new(root: &Path) -> Self {
        let mut rules = Self {
            directories: RwLock::default(),
            global: Gitignore::empty(),
            bytes_left: AtomicU64::new(MAX_IGNORE_BYTES),
        };
        if let Some(path) = excludes_path() {
            rules.global = rules.read(root, &path);
        }
        let mut above = None;
        let ancestors: Vec<&Path> = root.ancestors().collect();
        for directory in ancestors.into_iter().rev() {
            above = rules.read_directory(directory, above.clone()).or(above);
        }
        let root_rules = above.unwrap_or_else(|| Arc::new(DirectoryRules::empty()));
        rules.insert(root, root_rules);
        rules
    }

    /// Returns whether the walk includes `entry`, and reads the rules of a directory that it does. A
    /// directory must be asked for before what is in it.
    pub(super) fn includes(&self, entry: &DirEntry) -> bool {
        if entry.depth() == 0 {
            return true;
        }
        let path = entry.path();
        let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
        let Some(rules) = self.rules_for(path) else {
            return false;
        };
        let is_included = match rules.matched(path, is_directory, &self.global) {
            Match::Ignore(()) => false,
            Match::Whitelist(()) => true,
            Match::None => !is_hidden(entry.file_name()),
        };
        if is_included
            && is_directory
            && let Some(own) = self.read_directory(path, Some(rules))
        {
            self.insert(path, own);
        }
        is_included
    }

    /// Returns the rules of the nearest directory above `path` that has any.
    fn rules_for(&self, path: &Path) -> Option<Arc<DirectoryRules>> {
        let directories = self
            .directories
            .read()
            .unwrap_or_else(PoisonError::into_inner);
        let mut above = path.ancestors().skip(1);
        above.find_map(|directory| directories.get(directory).cloned())
    }

    fn insert(&self, directory: &Path, rules: Arc<DirectoryRules>) {
        self.directories
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(directory.to_owned(), rules);
    }

    /// Reads the rules of one directory; `None` if it has none.
    fn read_directory(
        &self,
        directory: &Path,
        above: Option<Arc<DirectoryRules>>,
    ) -> Option<Arc<DirectoryRules>> {
        let git_exclude = match common_directory(directory) {
            Some(git) => self.read(directory, &git.join("info/exclude")),
            None => Gitignore::empty(),
        };
        let rules = DirectoryRules {
            ignore: self.read(directory, &directory.join(".ignore")),
            git_ignore: self.read(directory, &directory.join(".gitignore")),
            git_exclude,
            above,
        };
        rules.says_something().then(|| Arc::new(rules))
    }

    /// Reads an ignore file with patterns relative to `root`. Lines that are not patterns are skipped.
    fn read(&self, root: &Path, path: &Path) -> Gitignore {
        let Ok(Some(bytes)) = zot_files::read_bytes(path, MAX_IGNORE_FILE_BYTES) else {
            return Gitignore::empty();
        };
        let is_affordable = self
            .bytes_left
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                left.checked_sub(bytes.len() as u64)
            })
            .is_ok();
        if !is_affordable {
            return Gitignore::empty();
        }
        let mut builder = GitignoreBuilder::new(root);
        for line in String::from_utf8_lossy(&bytes)
            .trim_start_matches('\u{feff}')
            .lines()
        {
            let _ = builder.add_line(None, line);
        }
        builder.build().unwrap_or_else(|_| Gitignore::empty())
    }
}

impl DirectoryRules {
    fn empty() -> Self {
        Self {
            above: None,
            ignore: Gitignore::empty(),
            git_ignore: Gitignore::empty(),
            git_exclude: Gitignore::empty(),
        }
    }

    fn says_something(&self) -> bool {
        let files = [&self.ignore, &self.git_ignore, &self.git_exclude];
        files.iter().any(|file| !file.is_empty())
    }

    /// Matches a path. `.ignore` prevails over `.gitignore`, that over git's other files, and for each
    /// of them the nearest directory over those above.
    fn matched(&self, path: &Path, is_directory: bool, global: &Gitignore) -> Match<()> {
        let matched = |file: &Gitignore| file.matched(path, is_directory).map(|_| ());
        let (mut ignore, mut git_ignore, mut git_exclude) = (Match::None, Match::None, Match::None);
        let mut next = Some(self);
        while let Some(rules) = next {
            ignore = ignore.or(matched(&rules.ignore));
            git_ignore = git_ignore.or(matched(&rules.git_ignore));
            git_exclude = git_exclude.or(matched(&rules.git_exclude));
            next = rules.above.as_deref();
        }
        let git = git_ignore.or(git_exclude).or(matched(global));
        ignore.or(git)
    }
}

fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Returns where the user's own ignore file for all projects is.
fn excludes_path() -> Option<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let user = std::env::var_os("XDG_CONFIG_HOME").map_or(home.join(".config"), PathBuf::from);
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let configurations = [
        variable("GIT_CONFIG_GLOBAL"),
        variable("GIT_CONFIG_SYSTEM"),
        Some(home.join(".gitconfig")),
        Some(user.join("git/config")),
    ];
    // These are opened whatever they are.
    let mut configurations = configurations.iter().flatten();
    let are_regular = configurations.all(|path| zot_files::check_regular(path).is_ok());
    are_regular.then(gitconfig_excludes_path).flatten()
}

/// Returns the directory that a repository shares with its worktrees; `None` if `directory` is neither.
fn common_directory(directory: &Path) -> Option<PathBuf> {
    let git = directory.join(".git");
    if git.metadata().ok()?.is_dir() {
        return Some(git);
    }
    let line = |path: &Path| {
        let text = zot_files::read_existing_text(path, MAX_IGNORE_FILE_BYTES).ok()?;
        Some(text.lines().next()?.to_owned())
    };
    let worktree = directory.join(line(&git)?.strip_prefix("gitdir: ")?);
    Some(worktree.join(line(&worktree.join("commondir"))?))
}
