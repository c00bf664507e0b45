//! Checks whether the program of an extension can be started.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};

use crate::manifest::Manifest;

/// Why the program of an extension cannot be started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProgramError {
    #[error(
        "\"exec\": {0} does not exist: build the extension first, or correct the path (it is relative to the manifest)"
    )]
    Missing(String),
    #[error(
        "\"exec\": {0} is neither a file beside the manifest nor a program on PATH: install it, or give a path such as ./{0}"
    )]
    NotOnPath(String),
    #[error("\"exec\": {0} leaves the extension's directory: give a path inside it")]
    LeavesDirectory(String),
    #[error("\"exec\": {0} is a directory, not a program")]
    NotAFile(String),
    #[error("\"exec\": {0} is not executable: run `chmod +x {0}` in the extension's directory")]
    NotExecutable(String),
}

/// Checks that the program of the extension in `directory` exists and may be executed; returns its
/// path.
pub fn check_program(manifest: &Manifest, directory: &Path) -> Result<PathBuf, ProgramError> {
    let exec = || manifest.exec.clone();
    let program = manifest.program(directory);
    if program.components().count() == 1 && !program.is_absolute() {
        return on_path(&program).ok_or_else(|| ProgramError::NotOnPath(exec()));
    }
    let upwards = Path::new(&manifest.exec)
        .components()
        .any(|component| component == Component::ParentDir);
    if upwards {
        return Err(ProgramError::LeavesDirectory(exec()));
    }
    let Ok(metadata) = fs::metadata(&program) else {
        return Err(ProgramError::Missing(exec()));
    };
    if !metadata.is_file() {
        return Err(ProgramError::NotAFile(exec()));
    }
    if metadata.permissions().mode() & 0o111 == 0 {
        return Err(ProgramError::NotExecutable(exec()));
    }
    Ok(program)
}

fn on_path(program: &Path) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join(program))
        .find(|candidate| {
            fs::metadata(candidate).is_ok_and(|metadata| {
                metadata.is_file() && metadata.permissions().mode() & 0o111 != 0
            })
        })
}
