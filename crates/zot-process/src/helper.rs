//! Programs that zot starts for itself, with the rights of the user.
//!
//! A confined command can write to the working directory. That may be in `PATH`, as with the virtual
//! environment of a project: a `git` that was put there must not run outside of the sandbox.

#[cfg(test)]
mod tests;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where programs are looked for without `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns a command that runs the program `name` of the system. Programs in `workspace` and in the current
/// directory are not used, neither by zot nor by the program itself.
pub fn helper(name: &str, workspace: &Path) -> io::Result<Command> {
    let trusted = TrustedPath::current(workspace);
    let mut command = Command::new(trusted.find(name)?);
    command.env("PATH", trusted.join());
    Ok(command)
}

/// Finds the program `name` as [`helper`] does, for a command that gets the whole `PATH` of the user.
pub fn find_helper(name: &str, workspace: &Path) -> io::Result<PathBuf> {
    TrustedPath::current(workspace).find(name)
}

/// Where the name of a program leads in `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedProgram {
    /// Outside of the directories that confined programs can write.
    Outside(PathBuf),
    /// Inside of them, or at a relative path.
    Inside(PathBuf),
    Missing,
}

/// Looks up the program `name` in `path`, by default `PATH`, for a command that runs with the rights of the
/// user. Confined programs can write to the directories in `writable`.
pub fn find_outside(name: &str, path: Option<&OsStr>, writable: &[&Path]) -> NamedProgram {
    let path = path.map_or_else(search_path, ToOwned::to_owned);
    let found = env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path));
    match found {
        Some(found) if TrustedPath::new(&path, writable).contains(&found) => {
            NamedProgram::Outside(found)
        }
        Some(found) => NamedProgram::Inside(found),
        None => NamedProgram::Missing,
    }
}

fn search_path() -> OsString {
    env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into())
}

/// The directories of `PATH` that are absolute and outside of the working directory.
#[derive(Debug)]
struct TrustedPath {
    directories: Vec<PathBuf>,
    excluded: Vec<PathBuf>,
}

impl TrustedPath {
    fn current(workspace: &Path) -> Self {
        Self::new(&search_path(), &[Path::new("."), workspace])
    }

    fn new(path: &OsStr, excluded: &[&Path]) -> Self {
        let named = excluded
            .iter()
            .filter_map(|path| std::path::absolute(path).ok());
        let real = excluded.iter().filter_map(|path| path.canonicalize().ok());
        let mut trusted = Self {
            directories: Vec::new(),
            // In the root of the file system there would be no program at all.
            excluded: named
                .chain(real)
                .filter(|path| path.parent().is_some())
                .collect(),
        };
        trusted.directories = env::split_paths(path)
            .filter(|directory| trusted.contains(directory))
            .collect();
        trusted
    }

    fn find(&self, name: &str) -> io::Result<PathBuf> {
        let mut found = self
            .directories
            .iter()
            .map(|directory| directory.join(name));
        // It may be a link into the working directory.
        let found = found.find(|path| is_executable(path) && self.contains(path));
        found.ok_or_else(|| {
            let problem = format!("{name} is not in PATH outside of the working directory");
            io::Error::new(io::ErrorKind::NotFound, problem)
        })
    }

    fn join(&self) -> OsString {
        env::join_paths(&self.directories).unwrap_or_else(|_| DEFAULT_PATH.into())
    }

    fn contains(&self, path: &Path) -> bool {
        let is_outside = |path: &Path| {
            !self
                .excluded
                .iter()
                .any(|excluded| path.starts_with(excluded))
        };
        path.is_absolute()
            && is_outside(path)
            && path.canonicalize().is_ok_and(|real| is_outside(&real))
    }
}

fn is_executable(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}
