//! Shims of pyenv, rbenv, nodenv and the like: scripts that choose among installed versions.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// The programs that the managers' scripts call, besides each other.
const HELPERS: [&str; 16] = [
    "awk", "basename", "bash", "cat", "cut", "dirname", "env", "grep", "head", "ls", "readlink",
    "sed", "sort", "tail", "tr", "uname",
];

/// `ROOT/shims/NAME`, where `ROOT/versions` holds what it chooses from.
pub(super) struct Shim {
    pub(super) root: PathBuf,
    name: OsString,
}

impl Shim {
    pub(super) fn at(path: &Path) -> Option<Self> {
        let directory = path.parent()?;
        if directory.file_name()? != "shims" {
            return None;
        }
        let root = directory.parent()?;
        if !root.join("versions").is_dir() || !root.join("libexec").is_dir() {
            return None;
        }
        Some(Self {
            root: root.to_owned(),
            name: path.file_name()?.to_owned(),
        })
    }

    /// Returns the program in every installed version, the manager's scripts, and what those call. Only
    /// the manager knows which version it will choose.
    pub(super) fn programs(&self) -> Vec<PathBuf> {
        let mut programs: Vec<PathBuf> = files_in(&self.root.join("versions"))
            .map(|version| version.join("bin").join(&self.name))
            .filter(|program| program.exists())
            .collect();
        programs.extend(files_in(&self.root.join("libexec")));
        programs.extend(HELPERS.iter().map(PathBuf::from));
        programs
    }
}

fn files_in(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}
