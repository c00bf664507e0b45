//! Notices that a command made something in the home directory of the sandbox, where it will be lost.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;

use crate::sandbox::{ToolSandbox, Walls};

/// What ordinary tools make there unasked, beside hidden directories.
const OF_TOOLS: [&str; 1] = ["go"];

/// The home directory of the sandbox before a command.
pub(super) struct OwnHome {
    path: PathBuf,
    names: HashSet<OsString>,
}

impl OwnHome {
    /// Looks at the home directory, unless it is the user's own or a result has explained it already.
    pub(super) fn watch(walls: &Walls, tools: &ToolSandbox) -> Option<Self> {
        if tools.has_explained_home() {
            return None;
        }
        let path = walls.own_home()?;
        let names = names(&path).collect();
        Some(Self { path, names })
    }

    /// Returns a sentence about what was made since, for the first command of a session that made something.
    pub(super) fn explain(self, tools: &ToolSandbox) -> Option<String> {
        let name = names(&self.path).find(|name| !self.names.contains(name))?;
        tools.note_home_explained();
        Some(format!(
            "~/{} is in the sandbox's own home directory: it is removed when zot ends, and is not a file of the user",
            name.to_string_lossy()
        ))
    }
}

/// Returns the names in a directory that a user would look for.
fn names(path: &PathBuf) -> impl Iterator<Item = OsString> {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name());
    names.filter(|name| {
        let is_hidden = name.as_bytes().starts_with(b".");
        !is_hidden && !OF_TOOLS.iter().any(|tool| name == *tool)
    })
}
