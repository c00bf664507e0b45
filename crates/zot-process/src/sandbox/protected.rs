//! Files of a working directory that would let a command act outside of it later: they name programs
//! that other programs start, or rules that they follow.

use std::path::{Path, PathBuf};

/// What stays read-only in a writable directory, relative to it, whether it exists or not.
pub const PROTECTED: [&str; 48] = [
    ".git/hooks",
    ".git/config",
    // What leads git to another configuration.
    ".git/commondir",
    ".git/modules",
    ".git/worktrees",
    ".git/config.worktree",
    // Makes the directory itself a repository.
    "HEAD",
    ".zot",
    ".mcp.json",
    // Other agents.
    ".agents",
    ".aider.conf.yml",
    ".claude",
    ".claude.json",
    ".codex",
    ".cursor",
    ".gemini",
    ".goose",
    ".opencode",
    ".pi",
    ".qwen",
    ".windsurf",
    "opencode.json",
    // Editors and tools that run commands when a directory is opened.
    ".devcontainer",
    ".editorconfig",
    ".envrc",
    ".exrc",
    ".fleet",
    ".idea",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".vscode",
    ".zed",
    // Shells.
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
        .filter(|path| {
            !named
                .iter()
                .any(|named| path.starts_with(named) && named != root)
        })
        .collect()
}

/// Returns where those of `paths` lead that are links: what programs act on is there.
pub(crate) fn targets_of_links(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths
        .iter()
        .filter(|path| path.is_symlink())
        .filter_map(|path| path.canonicalize().ok())
        .collect()
}
