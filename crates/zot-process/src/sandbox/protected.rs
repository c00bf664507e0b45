//! Files of a working directory that would let a command act outside of it later: they name programs
//! that other programs start, or rules that they follow.

mod repository;
mod trail;

use std::path::{Path, PathBuf};
use std::slice;

/// What stays read-only in a writable directory, relative to it, whether it exists or not.
pub const PROTECTED: [&str; 72] = [
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
    ".github/hooks",
    ".goose",
    ".junie",
    ".kilocode",
    ".kiro",
    ".opencode",
    ".openhands",
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
    ".helix",
    ".idea",
    ".lldbinit",
    ".nvimrc",
    ".nvim.lua",
    ".vimrc",
    ".vscode",
    ".zed",
    // Interpreters.
    ".Rprofile",
    ".irbrc",
    ".pdbrc",
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

/// What the protected files of a sandbox depend on.
#[derive(Debug, Clone, Default)]
pub(super) struct Protection {
    /// The writable directories.
    pub(super) roots: Vec<PathBuf>,
    /// What rules name, which is given free.
    pub(super) named: Vec<PathBuf>,
    pub(super) home: Option<PathBuf>,
}

/// The protected files as they are now.
#[derive(Debug, Default)]
pub(super) struct ProtectedFiles {
    /// Sorted, whether they exist or not.
    pub(super) paths: Vec<PathBuf>,
    /// Files whose content decides which they are.
    pub(super) read: Vec<PathBuf>,
}

impl Protection {
    /// Finds the files: those of the list, where links on the way to them lead, and what git uses instead.
    pub(super) fn find(&self) -> ProtectedFiles {
        let mut found = ProtectedFiles::default();
        for root in &self.roots {
            // What is a repository already needs no protection from becoming one.
            let is_repository = repository::is_repository(root);
            let listed = PROTECTED.iter();
            let listed = listed.filter(|name| !is_repository || **name != "HEAD");
            for name in listed {
                let path = root.join(name);
                if self.is_free(&path, slice::from_ref(root)) {
                    continue;
                }
                let passed = trail::trail(root, Path::new(name));
                let passed = passed
                    .into_iter()
                    .filter(|path| self.may_be_protected(path));
                found.paths.extend(passed);
                found.paths.push(path);
            }
            let itself = Some(root).filter(|root| is_repository && !self.named.contains(root));
            let git = repository::files(root, itself.map(PathBuf::as_path), self.home.as_deref());
            let paths = git.paths.into_iter();
            let paths =
                paths.filter(|path| self.surrounds_no_root(path) && !self.is_named(path, root));
            found.paths.extend(paths);
            found.read.extend(git.read);
        }
        found.paths.sort_unstable();
        found.paths.dedup();
        found
    }

    fn may_be_protected(&self, path: &Path) -> bool {
        self.surrounds_no_root(path) && !self.is_free(path, &self.roots)
    }

    /// A link to the working directory, or to what is around it, must not make all of it read-only.
    fn surrounds_no_root(&self, path: &Path) -> bool {
        !self.roots.iter().any(|root| root.starts_with(path))
    }

    fn is_free(&self, path: &Path, roots: &[PathBuf]) -> bool {
        let mut named = self.named.iter().filter(|named| !roots.contains(named));
        named.any(|named| path.starts_with(named))
    }

    /// Returns whether a rule names the file that git in `root` uses, or the repository that it is a part of.
    fn is_named(&self, path: &Path, root: &Path) -> bool {
        let mut named = self.named.iter().filter(|named| *named != root);
        named.any(|named| path == named || path.parent() == Some(named))
    }
}
