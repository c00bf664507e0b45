//! `zino init`: writes a configuration that works without changes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

const FILES: [(&str, &str); 6] = [
    ("ZINO.toml", include_str!("../../assets/ZINO.toml")),
    ("SYSTEM.md", include_str!("../../assets/SYSTEM.md")),
    (
        "tools/bash.json",
        include_str!("../../assets/tools/bash.json"),
    ),
    (
        "tools/python.json",
        include_str!("../../assets/tools/python.json"),
    ),
    (
        "skills/bash.json",
        include_str!("../../assets/skills/bash.json"),
    ),
    (
        "skills/python.json",
        include_str!("../../assets/skills/python.json"),
    ),
];

/// Where programs of the model run, away from the files above: a sandbox needs a directory of its own.
const WORKING_DIRECTORY: &str = "work";

/// Why a file could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", .path.display())]
pub struct InitError {
    path: PathBuf,
    source: io::Error,
}

/// The result for one file, or for the directory of programs.
#[derive(Debug, PartialEq, Eq)]
pub enum Written {
    New(PathBuf),
    /// It existed already and is left unchanged.
    Kept(PathBuf),
}

/// Writes the files that do not exist yet into `directory`.
pub fn init(directory: &Path) -> Result<Vec<Written>, InitError> {
    let report = |path: PathBuf, result: io::Result<()>| match result {
        Ok(()) => Ok(Written::New(path)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Written::Kept(path)),
        Err(source) => Err(InitError { path, source }),
    };
    let mut written = Vec::new();
    for (name, text) in FILES {
        let path = directory.join(name);
        let result = write_new(&path, text);
        written.push(report(path, result)?);
    }
    let path = directory.join(WORKING_DIRECTORY);
    let result = fs::create_dir(&path);
    written.push(report(path, result)?);
    Ok(written)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(text.as_bytes())
}
