//! What happens to an event whose interceptor failed.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rustix::fs::OFlags;

use serde::Deserialize;

/// A manifest is a page of text; zot refuses a larger one.
const MAX_READ_MANIFEST_BYTES: u64 = 1024 * 1024;

/// What happens to an event whose interceptor panics or fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// It happens as if there were no interceptor: a broken extension must not stop the agent.
    #[default]
    Allow,
    /// It does not happen: a broken guard must not let everything pass.
    Block,
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    on_failure: OnFailure,
}

impl OnFailure {
    /// Reads the policy from the manifest in the extension's directory, which zot also applies when
    /// the extension does not answer at all.
    pub(crate) fn of_manifest(directory: &Path) -> Self {
        let mut text = String::new();
        let read = open(&directory.join("extension.json"))
            .and_then(|file| file.take(MAX_READ_MANIFEST_BYTES).read_to_string(&mut text));
        let manifest = read
            .ok()
            .and_then(|_| serde_json::from_str::<Manifest>(&text).ok());
        manifest
            .map(|manifest| manifest.on_failure)
            .unwrap_or_default()
    }
}

/// Opens a regular file; a named pipe in its place does not hang the extension.
fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed())
        .open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::ErrorKind::InvalidInput.into()),
    }
}
