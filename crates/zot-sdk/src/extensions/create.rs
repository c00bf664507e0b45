//! Creates a new extension from a working skeleton.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use zot_extension_contract::{NameError, check_name};

use super::skeleton::{Mode, Skeleton};

const PROGRAM_MODE: u32 = 0o755;

/// The language of a new extension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Rust.
    Rust,
    /// Python.
    Python,
    /// TypeScript or JavaScript.
    TypeScript,
    /// A shell script.
    Shell,
}

/// What a new extension is built on. Shell and Rust extensions always use the protocol directly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Foundation {
    /// A copy of zot's SDK for the language.
    Sdk,
    /// Nothing: the extension reads and writes frames itself.
    Protocol,
}

/// An extension that was created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedExtension {
    /// The name of the extension.
    pub name: String,
    /// The directory that was created.
    pub directory: PathBuf,
    /// Commands to run next.
    pub next_steps: Vec<String>,
}

/// An extension could not be created; nothing was left behind.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// The name is invalid.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The directory exists already.
    #[error("{} exists already: choose another name, or another directory with --dir", .0.display())]
    Exists(PathBuf),
    /// A file could not be written.
    #[error("{}: {source}", .path.display())]
    Write {
        /// The path concerned.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// Creates the extension `name`, with a test, in a new `directory`.
pub fn create(
    name: &str,
    language: Language,
    foundation: Foundation,
    directory: &Path,
) -> Result<CreatedExtension, CreateError> {
    check_name(name)?;
    let failed = |source| CreateError::Write {
        path: directory.to_owned(),
        source,
    };
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    fs::create_dir(directory).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => CreateError::Exists(directory.to_owned()),
        _ => failed(error),
    })?;
    let skeleton = Skeleton::new(name, language, foundation);
    if let Err(error) = write(&skeleton, directory) {
        let _ = fs::remove_dir_all(directory);
        return Err(failed(error));
    }
    let shown = directory.display().to_string();
    let next_steps = skeleton.next_steps().into_iter();
    Ok(CreatedExtension {
        name: name.to_owned(),
        directory: directory.to_owned(),
        next_steps: next_steps.map(|step| step.replace("DIR", &shown)).collect(),
    })
}

fn write(skeleton: &Skeleton<'_>, directory: &Path) -> io::Result<()> {
    for (path, text, mode) in skeleton.files() {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
        if mode == Mode::Program {
            fs::set_permissions(&path, fs::Permissions::from_mode(PROGRAM_MODE))?;
        }
    }
    Ok(())
}
