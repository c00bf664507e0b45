//! Files of a working directory that would let a command act outside of it later: they name programs
//! that other programs start, or rules that they follow.

mod repository;

use std::path::{Path, PathBuf};

/// What stays read-only in a writable directory, relative to it, whether it exists or not.
pub const PROTECTED: [&str; 65] = [
    ".git/hooks",
    ".git/config",
    // What leads git to another configuration.
    ".git/commondir",
    ".git/modules",
    ".git/worktrees",
    ".git/config.worktree",
    // Makes the directory itself a repository.
    "HEAD",
    // The user's own, if this is the home directory.
    ".gitconfig",
    ".hg/hgrc",
    ".jj/repo/config.toml",
    ".zot",
    ".mcp.json",
    // Other agents.
    ".agents",
    ".aider.conf.yml",
    ".amazonq",
    ".amp",
    ".augment",
    ".claude",
    ".claude.json",
    ".codex",
    ".continue",
    ".crush.json",
    ".cursor",
    ".factory",
    ".gemini",
    ".goose",
    ".junie",
    ".kilocode",
    ".kiro",
    ".opencode",
    ".pi",
    ".qwen",
    ".roo",
    ".trae",
    ".windsurf",
    "crush.json",
    "opencode.json",
    // Editors and tools that run commands when a directory is opened.
    ".devcontainer",
    ".editorconfig",
    ".envrc",
    ".exrc",
    ".fleet",
    ".gdbinit",
    ".idea",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".vscode",
    ".zed",
    // Shells.
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".cshrc",
    ".inputrc",
    ".kshrc",
    ".login",
    ".profile",
    ".tcshrc",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".ssh",
];

/// Returns the protected paths of the writable directory `root`, without those that `named` gives free.
pub(crate) fn below(root: &Path, named: &[PathBuf]) -> Vec<PathBuf> {
    PROTECTED
        .iter()
        .map(|name| root.join(name))
        .filter(|path| !is_free(path, named, &[root.to_owned()]))
        .collect()
}

/// Returns what else programs act on: where links on the way to `paths` lead, and what git in the directories
/// `roots` uses instead. What `named` gives free is left out.
pub(crate) fn elsewhere(
    paths: &[PathBuf],
    roots: &[PathBuf],
    home: Option<&Path>,
    named: &[PathBuf],
) -> Vec<PathBuf> {
    let targets = paths.iter().map(|path| repository::resolved(path));
    let targets = targets.filter(|path| !is_free(path, named, roots));
    let of_git = roots.iter().flat_map(|root| {
        // A rule names the file, or the repository that it is a part of.
        let is_named = move |path: &PathBuf| {
            let mut named = named.iter().filter(|named| *named != root);
            named.any(|named| path == named || path.parent() == Some(named))
        };
        let paths = repository::paths(root, home);
        paths.into_iter().filter(move |path| !is_named(path))
    });
    targets
        .chain(of_git)
        .filter(|path| !paths.contains(path) && !roots.contains(path))
        .collect()
}

fn is_free(path: &Path, named: &[PathBuf], roots: &[PathBuf]) -> bool {
    let mut named = named.iter().filter(|named| !roots.contains(named));
    named.any(|named| path.starts_with(named))
}
