//! `extension.json`: what an extension is called, how it is started, what it may do.

mod permissions;
mod summary;
#[cfg(test)]
mod tests;

use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use zot_files::NotRegular;
use zot_process::sandbox::Level;

use crate::limits::{MAX_START_TIME, MIN_START_TIME, START_TIME};

pub use permissions::{ExecPermission, Limits, PathVariables, Permissions, PermittedPath};
pub use summary::{requested, summary};

/// The name of the manifest file.
pub const MANIFEST_FILE: &str = "extension.json";

/// The directory in `$ZOT_HOME` that holds the data directories of confined extensions.
pub(crate) const DATA_DIRECTORY: &str = "extension-data";

/// The directory of a project's extensions.
pub(crate) const PROJECT_DIRECTORY: &str = ".zot/extensions";

/// A manifest is a page of text; more is a mistake.
///
/// Limit: the extension is not loaded.
pub const MAX_MANIFEST_BYTES: u64 = 1024 * 1024;

const MAX_EXTENSION_NAME_BYTES: usize = 64;

/// Describes an extension. Unknown fields are ignored, as in the original.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Manifest {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
    /// A path relative to the manifest, or a program on `PATH`.
    #[serde(default)]
    pub exec: String,
    #[serde(default)]
    pub args: Vec<String>,
    #[serde(default)]
    pub language: String,
    #[serde(default)]
    pub description: String,
    #[serde(default = "enabled_by_default")]
    pub enabled: bool,
    /// What happens to an event whose interceptor does not answer.
    #[serde(default)]
    pub on_failure: FailurePolicy,
    /// Whether prompts must not run when it cannot be started.
    #[serde(default)]
    pub required: bool,
    /// How long it may take to start, in seconds.
    #[serde(default)]
    pub start_timeout: Option<f64>,
    /// How far it confines itself; what `permissions` name is allowed in addition. At `off` that is only
    /// their environment.
    #[serde(default, deserialize_with = "permissions::level")]
    pub sandbox: Option<Level>,
    /// Without it and without a sandbox, the extension may do everything the user may do.
    #[serde(default)]
    pub permissions: Option<Permissions>,
    #[serde(default)]
    pub limits: Limits,
}

fn enabled_by_default() -> bool {
    true
}

/// What happens to an event whose interceptor crashed or does not answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailurePolicy {
    #[default]
    Allow,
    Block,
}

/// Why a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("no {MANIFEST_FILE} in {}", .0.display())]
    Missing(PathBuf),
    #[error("read manifest: {0}")]
    Read(#[source] io::Error),
    #[error("read manifest: {MANIFEST_FILE}: {0}")]
    NotAFile(NotRegular),
    #[error("parse manifest: it is larger than {MAX_MANIFEST_BYTES} bytes")]
    TooLarge,
    #[error("parse manifest: {0}")]
    Parse(#[source] serde_json::Error),
    #[error("manifest: {0}")]
    Name(#[from] NameError),
    #[error("manifest: \"exec\" is missing: give the program to start, such as \"./{name}\"")]
    NoExec { name: String },
    #[error("manifest: permissions: {0}")]
    Permissions(String),
}

/// Why a name is not valid for an extension.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("\"name\" is missing")]
    Missing,
    #[error(
        "{0:?} is not a valid extension name: use letters, digits, '-', '_' and '.', starting with a letter or digit"
    )]
    Characters(String),
    #[error("the name is longer than {MAX_EXTENSION_NAME_BYTES} bytes")]
    TooLong,
}

/// The fields of an invalid manifest that can still be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PartialManifest {
    pub is_required: bool,
    pub is_disabled: bool,
}

impl PartialManifest {
    /// Reads the manifest in `directory`. Both fields are `false` if it is not a JSON object.
    pub fn load(directory: &Path) -> Self {
        let text = Manifest::read(directory).unwrap_or_default();
        let value = serde_json::from_slice::<serde_json::Value>(&text).unwrap_or_default();
        Self {
            is_required: value["required"] == true,
            is_disabled: value["enabled"] == false,
        }
    }
}

impl Manifest {
    /// Reads the manifest of the extension in `directory`.
    pub fn load(directory: &Path) -> Result<Self, ManifestError> {
        Self::parse(&Self::read(directory)?)
    }

    fn read(directory: &Path) -> Result<Vec<u8>, ManifestError> {
        let mut file = match zot_files::open_existing(&directory.join(MANIFEST_FILE)) {
            Ok(file) => file.take(MAX_MANIFEST_BYTES + 1),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(ManifestError::Missing(directory.to_owned()));
            }
            Err(error) => {
                let other = NotRegular::of(&error).map(ManifestError::NotAFile);
                return Err(other.unwrap_or(ManifestError::Read(error)));
            }
        };
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(ManifestError::Read)?;
        if text.len() as u64 > MAX_MANIFEST_BYTES {
            return Err(ManifestError::TooLarge);
        }
        Ok(text)
    }

    pub fn parse(text: &[u8]) -> Result<Self, ManifestError> {
        let manifest: Self = serde_json::from_slice(text).map_err(ManifestError::Parse)?;
        check_name(&manifest.name)?;
        if manifest.exec.is_empty() {
            return Err(ManifestError::NoExec {
                name: manifest.name,
            });
        }
        if let Some(permissions) = &manifest.permissions {
            permissions.check().map_err(ManifestError::Permissions)?;
        }
        Ok(manifest)
    }

    /// Returns how long the extension may take from its start to its hello.
    pub fn start_time(&self) -> Duration {
        let requested = self.start_timeout.map(Duration::try_from_secs_f64);
        match requested {
            None => START_TIME,
            Some(Ok(requested)) => requested.clamp(MIN_START_TIME, MAX_START_TIME),
            // Negative, or longer than a `Duration` can hold.
            Some(Err(_)) if self.start_timeout > Some(0.0) => MAX_START_TIME,
            Some(Err(_)) => MIN_START_TIME,
        }
    }

    /// Returns the program to start: next to the manifest if it exists there, else looked up on
    /// `PATH`.
    pub fn program(&self, directory: &Path) -> PathBuf {
        let exec = Path::new(&self.exec);
        let beside = directory.join(exec);
        if exec.components().count() == 1 && !self.exec.starts_with('.') && !beside.exists() {
            return exec.to_owned();
        }
        beside.components().collect()
    }

    /// Returns whether it asks to be confined, or the user's `minimum` confines it anyway.
    pub fn is_confined(&self, minimum: Level) -> bool {
        match (self.sandbox, &self.permissions) {
            (None, Some(_)) => true,
            (own, _) => own.unwrap_or_default().max(minimum) != Level::Off,
        }
    }

    /// Returns the level that it runs at with the user's `minimum`; `None` without one, or if it is
    /// confined to its permissions alone.
    pub fn effective_sandbox(&self, minimum: Level) -> Option<Level> {
        match (self.sandbox, &self.permissions) {
            (None, Some(_)) => None,
            (None, None) => (minimum != Level::Off).then_some(minimum),
            (Some(own), _) => Some(own.max(minimum)),
        }
    }

    /// Returns where the extension in `directory` may keep persistent data. A confined extension
    /// cannot write to its own directory, because it could give itself more permissions. One that
    /// comes with a project shares no data with others of its name.
    pub fn data_dir(&self, directory: &Path, home: &Path, minimum: Level) -> PathBuf {
        if !self.is_confined(minimum) {
            return directory.to_owned();
        }
        let name = match directory.parent() {
            Some(parent)
                if parent.ends_with(PROJECT_DIRECTORY) && parent != home.join("extensions") =>
            {
                // No extension name contains '@'.
                format!("{}@{}", self.name, fingerprint(directory))
            }
            _ => self.name.clone(),
        };
        home.join(DATA_DIRECTORY).join(name)
    }
}

/// Returns the path of an extension's log.
pub fn log_path(home: &Path, name: &str) -> PathBuf {
    home.join("logs").join(format!("ext-{name}.log"))
}

/// Returns a short hash that identifies a directory.
pub(crate) fn fingerprint(directory: &Path) -> String {
    let digest = Sha256::digest(directory.as_os_str().as_encoded_bytes());
    let start = digest.iter().take(8);
    start.map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that an extension may be called `name`, which becomes part of file names.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() {
        return Err(NameError::Missing);
    }
    if name.len() > MAX_EXTENSION_NAME_BYTES {
        return Err(NameError::TooLong);
    }
    let known = |character: char| character.is_alphanumeric() || "-_.".contains(character);
    if name.chars().all(known) && name.starts_with(char::is_alphanumeric) {
        Ok(())
    } else {
        Err(NameError::Characters(name.to_owned()))
    }
}
