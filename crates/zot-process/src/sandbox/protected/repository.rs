//! What git acts on outside of the usual places: a repository elsewhere in the working directory, and the files
//! that its configuration names.

#[cfg(test)]
mod tests;

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

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

/// How many files may include one another.
///
/// Limit: what further ones include is not protected.
const MAX_INCLUDED_FILES: usize = 32;

/// Returns the paths that git in `root` acts on, if its repository is not where it usually is or its
/// configuration names others.
pub(super) fn paths(root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(repository) = directory_at(&root.join(".git"), root) else {
        return Vec::new();
    };
    let common = text_of(&repository.join("commondir"));
    let common = common.and_then(|text| repository.join(text.trim()).canonicalize().ok());
    let mut paths = Vec::new();
    let mut ahead = Vec::new();
    for directory in [Some(repository), common].into_iter().flatten() {
        paths.extend(PARTS.iter().map(|part| directory.join(part)));
        ahead.extend(["config", "config.worktree"].map(|name| directory.join(name)));
    }
    let mut read: Vec<PathBuf> = Vec::new();
    while let Some(file) = ahead.pop() {
        if read.contains(&file) || read.len() == MAX_INCLUDED_FILES {
            continue;
        }
        for named in text_of(&file).iter().flat_map(|text| named_in(text)) {
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
            let path = resolved(&path);
            if let Named::File(_) = named {
                ahead.push(path.clone());
            }
            paths.push(path);
        }
        read.push(file);
    }
    paths
}

/// Returns `path` without links, as far as it exists.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let parent = || {
        let parent = path.parent()?.canonicalize().ok()?;
        Some(parent.join(path.file_name()?))
    };
    let found = path.canonicalize().ok().or_else(parent);
    found.unwrap_or_else(|| path.to_owned())
}

/// Returns the repository that `path` is, or names.
fn directory_at(path: &Path, root: &Path) -> Option<PathBuf> {
    if fs::metadata(path).ok()?.is_dir() {
        return path.canonicalize().ok();
    }
    let text = text_of(path)?;
    let named = text.trim().strip_prefix("gitdir:")?.trim();
    root.join(named).canonicalize().ok()
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
