//! Finds programs that start with the rights of the user.

#[cfg(test)]
mod tests;

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use zot_process::{NamedProgram, find_outside};

use super::LaunchError;

/// Returns the path of `program`. A name is looked up in `search_path`, by default `PATH`, but not in
/// `workspaces`: a confined command could have put it there, to have it started outside of its sandbox.
pub(super) fn locate(
    program: PathBuf,
    search_path: Option<&OsStr>,
    workspaces: &[&Path],
) -> Result<PathBuf, LaunchError> {
    let Some(name) = program.to_str().filter(|name| !name.contains('/')) else {
        return Ok(program);
    };
    // Around the home directory, confined commands could change every program of the user anyway, and
    // without those there would often be none.
    let home = env::home_dir();
    let is_home = |workspace: &Path| {
        home.as_ref()
            .is_some_and(|home| home.starts_with(workspace))
    };
    let workspaces: Vec<&Path> = workspaces
        .iter()
        .copied()
        .filter(|workspace| !is_home(workspace))
        .collect();
    match find_outside(name, search_path, &workspaces) {
        NamedProgram::Outside(path) => Ok(path),
        NamedProgram::Inside(found) => Err(LaunchError::InsideWorkspace {
            name: name.to_owned(),
            found,
        }),
        NamedProgram::Missing => Err(LaunchError::NotOnPath(name.to_owned())),
    }
}
