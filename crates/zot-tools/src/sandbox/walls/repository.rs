//! The repository of a worktree or submodule of git, which is outside of the working directory.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use zot_process::sandbox::{Access, Level};

use super::{Remedy, Walls};

/// Where a repository keeps what belongs to its worktrees.
const WORKTREES: &str = "worktrees";

/// What every repository has.
const DIRECTORIES: [&str; 2] = ["objects", "refs"];

impl Walls {
    /// Returns what would let git use the repository at `path`, or that of the worktree at `path`, if the sandbox
    /// refuses it and it is one of the user.
    pub(crate) fn refused_repository(&self, path: &Path) -> Option<Remedy> {
        let path = path.canonicalize().ok()?;
        let around = path.parent().filter(|parent| parent.ends_with(WORKTREES));
        let repository = match around.and_then(Path::parent) {
            Some(repository) => repository,
            None => &path,
        };
        if !is_repository(repository) {
            return None;
        }
        let access = match self.level {
            Level::ReadOnly => Access::Read,
            Level::Off | Level::Workspace => Access::Write,
        };
        self.layout.admit(&path, access, true).err()?;
        self.offered(repository, access)
    }
}

fn is_repository(path: &Path) -> bool {
    let is_users = path
        .metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == rustix::process::geteuid().as_raw());
    is_users
        && path.join("HEAD").is_file()
        && DIRECTORIES.iter().all(|name| path.join(name).is_dir())
}
