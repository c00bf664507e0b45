//! Finds the programs that check code.
//!
//! With a sandbox, programs must not choose what they are: a validator runs before the next program, and
//! reads its code.

#[cfg(test)]
mod tests;

use std::env;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use zot_process::{NamedProgram, find_outside};

use super::exposed::{Reachable, leads_into};
use crate::definitions::ExecutorDefinition;

/// Why a validator is not used, though it is named.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValidatorError {
    #[error(
        "static_analysis {path:?} of {executor} is a relative path, which cannot be used with a sandbox: give \
         an absolute path, or a name in PATH"
    )]
    Relative { executor: String, path: String },
    #[error(
        "static_analysis {path:?} of {executor} is inside of {}, where programs in the sandbox can write: move \
         it to another directory", .directory.display()
    )]
    Writable {
        executor: String,
        path: String,
        directory: PathBuf,
    },
}

/// The program that checks the code of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Validator {
    Program(PathBuf),
    /// The executor has none, or it is not installed.
    None,
    /// It is in `PATH`, but only where programs in the sandbox could have put it.
    Untrusted(PathBuf),
}

/// Finds the validator of `executor`. Programs in the sandbox can write in `reachable`; without a sandbox,
/// which is empty, everything is found where the original finds it.
pub(super) fn find(
    executor: &ExecutorDefinition,
    reachable: &[Reachable],
) -> Result<Validator, ValidatorError> {
    let Some(name) = executor.static_analysis.as_deref() else {
        return Ok(Validator::None);
    };
    if name.is_empty() {
        return Ok(Validator::None);
    }
    if name.contains('/') {
        return at_path(executor, name, reachable);
    }
    let directories: Vec<&Path> = reachable.iter().map(|place| &*place.directory).collect();
    let found = match directories.is_empty() {
        true => in_path(name).map_or(NamedProgram::Missing, NamedProgram::Outside),
        false => find_outside(name, None, &directories),
    };
    Ok(match found {
        NamedProgram::Outside(path) => Validator::Program(path),
        NamedProgram::Inside(path) => Validator::Untrusted(path),
        NamedProgram::Missing => Validator::None,
    })
}

/// Describes the validators that are not used because programs could have put them where they are. That is no
/// error: programs could otherwise keep `exc` from starting.
pub(super) fn untrusted(
    executors: &[ExecutorDefinition],
    reachable: &[Reachable],
) -> Result<Vec<String>, ValidatorError> {
    let mut warnings = Vec::new();
    for executor in executors {
        if let Validator::Untrusted(path) = find(executor, reachable)? {
            let (name, path) = (&executor.name, path.display());
            warnings.push(format!(
                "static_analysis of {name} is not used: it is in PATH only as {path}, where programs can write"
            ));
        }
    }
    Ok(warnings)
}

fn at_path(
    executor: &ExecutorDefinition,
    path: &str,
    reachable: &[Reachable],
) -> Result<Validator, ValidatorError> {
    let own = || executor.name.clone();
    let named = Path::new(path);
    if named.is_relative() && !reachable.is_empty() {
        return Err(ValidatorError::Relative {
            executor: own(),
            path: path.to_owned(),
        });
    }
    let mut places = reachable.iter().map(|place| &place.directory);
    if let Some(directory) = places.find(|directory| leads_into(named, directory)) {
        return Err(ValidatorError::Writable {
            executor: own(),
            path: path.to_owned(),
            directory: directory.clone(),
        });
    }
    // It starts in the working directory, which may be another one than ours.
    let found = std::path::absolute(named).ok().filter(|path| runs(path));
    Ok(found.map_or(Validator::None, Validator::Program))
}

fn in_path(name: &str) -> Option<PathBuf> {
    let directories = env::var_os("PATH")?;
    env::split_paths(&directories)
        .filter_map(|directory| std::path::absolute(directory.join(name)).ok())
        .find(|path| runs(path))
}

fn runs(path: &Path) -> bool {
    let metadata = path.metadata();
    metadata.is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}
