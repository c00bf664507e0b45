//! What git acts on outside of the usual places: a repository elsewhere in the working directory, and the files
//! that its configuration names.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::trail::{end, links, trail};
use crate::regular::open_regular;

/// The parts of a repository that name programs, or lead to other parts.
const PARTS: [&str; 6] = [
    "hooks",
    "config",
    "commondir",
    "modules",
    "worktrees",
    "config.worktree",
];

/// How much of a file of git is read.
///
/// Limit: what a longer one names is not protected.
const MAX_GIT_FILE_BYTES: u64 = 256 * 1024;

/// How many files of configuration are read.
///
/// Limit: what further ones name is not protected.
const MAX_GIT_CONFIGURATIONS: usize = 32;

/// How many paths a configuration may name.
///
/// Limit: further ones are not protected.
const MAX_NAMED_PATHS: usize = 256;

/// What git acts on.
#[derive(Debug, Default)]
pub(super) struct GitFiles {
    pub(super) paths: Vec<PathBuf>,
    /// The configuration that says so, whether it exists or not.
    pub(super) read: Vec<PathBuf>,
}

/// Returns what git in `root` acts on, if its repository is not where it usually is or its configuration, or
/// that of the user or the machine, names others.
///
/// `itself` is the directory if it is a repository without a working tree.
pub(super) fn files(root: &Path, itself: Option<&Path>, home: Option<&Path>) -> GitFiles {
    let mut files = GitFiles::default();
    let mut ahead: Vec<PathBuf> = configurations(home);
    if let Some(repository) = repository_of(root).or(itself.map(Path::to_owned)) {
        files.paths.extend(links(root, &repository));
        let repository = end(root, &repository);
        let common = text_of(&repository.join("commondir"));
        let common = common.map(|text| PathBuf::from(text.trim()));
        let passed = common.iter().flat_map(|common| links(&repository, common));
        files.paths.extend(passed);
        let common = common.map(|common| end(&repository, &common));
        for directory in [Some(repository), common].into_iter().flatten() {
            files
                .paths
                .extend(PARTS.iter().map(|part| directory.join(part)));
            ahead.extend(["config", "config.worktree"].map(|name| directory.join(name)));
        }
    }
    while let Some(file) = ahead.pop() {
        if files.read.contains(&file) || files.read.len() == MAX_GIT_CONFIGURATIONS {
            continue;
        }
        let text = text_of(&file);
        let named = text.iter().flat_map(|text| named_in(text));
        for named in named.take(MAX_NAMED_PATHS) {
            let base = match named {
                Named::Hooks(_) => Some(root),
                Named::File(_) => file.parent(),
            };
            let (Named::Hooks(text) | Named::File(text)) = &named;
            let path = match (text.strip_prefix("~/"), home, base) {
                (Some(rest), Some(home), _) => home.join(rest),
                (None, _, Some(base)) => base.join(text),
                _ => continue,
            };
            if let Named::File(_) = named {
                ahead.push(end(root, &path));
            }
            files.paths.extend(trail(root, &path));
        }
        files.read.push(file);
    }
    // A small number of them has many names.
    files.paths.sort_unstable();
    files.paths.dedup();
    files
}

/// Returns the configuration of the user and the machine.
fn configurations(home: Option<&Path>) -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let user = variable("XDG_CONFIG_HOME").or_else(|| home.map(|home| home.join(".config")));
    let candidates = [
        variable("GIT_CONFIG_GLOBAL"),
        home.map(|home| home.join(".gitconfig")),
        user.map(|user| user.join("git/config")),
        Some(PathBuf::from("/etc/gitconfig")),
    ];
    let absolute = candidates.into_iter().flatten();
    absolute.filter(|path| path.is_absolute()).collect()
}

/// Returns whether git takes the directory itself for a repository.
pub(super) fn is_repository(directory: &Path) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|part| directory.join(part).exists())
}

/// Returns the repository that `.git` in `root` is, or names. It need not exist.
fn repository_of(root: &Path) -> Option<PathBuf> {
    let path = root.join(".git");
    if fs::metadata(&path).ok()?.is_dir() {
        return Some(PathBuf::from(".git"));
    }
    let text = text_of(&path)?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    Some(PathBuf::from(named))
}

/// Returns what is in a file, if it is a regular one.
fn text_of(path: &Path) -> Option<String> {
    let mut text = Vec::new();
    let file = open_regular(path).ok()?;
    file.take(MAX_GIT_FILE_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// A path in a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    /// Where hooks are.
    Hooks(String),
    /// More of the configuration.
    File(String),
}

/// Returns the paths that a configuration names. What git would refuse may be among them.
fn named_in(text: &str) -> Vec<Named> {
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    let mut section = String::new();
    let mut named = Vec::new();
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let Some((name, rest)) = header.split_once(']') else {
                continue;
            };
            let name = name.split_whitespace().next().unwrap_or_default();
            section = name.to_ascii_lowercase();
            // A value may follow on the same line.
            line = rest.trim();
        }
        let Some((key, value)) = line.split_once('=') else {
            continue;
        };
        let value = unquoted(value);
        if value.contains('\0') {
            continue;
        }
        match (section.as_str(), &*key.trim().to_ascii_lowercase()) {
            ("core", "hookspath") => named.push(Named::Hooks(value)),
            ("include" | "includeif", "path") => named.push(Named::File(value)),
            _ => {}
        }
    }
    named
}

/// Returns a value without quotes and without the comment after it.
fn unquoted(value: &str) -> String {
    let mut text = String::new();
    let mut is_quoted = false;
    let mut characters = value.trim().chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => is_quoted = !is_quoted,
            '\\' => text.extend(characters.next()),
            '#' | ';' if !is_quoted => break,
            other => text.push(other),
        }
    }
    text.trim_end().to_owned()
}
