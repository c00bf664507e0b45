//! Reads `auth.json`: refuses it if other users can access it, and is lenient otherwise.

use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use serde_json::Value;
use zot_files::open_regular;

use crate::CredentialError;
use crate::entries::{Entries, holds_nothing};
use crate::oauth::Tokens;

/// Far more than any number of keys needs.
///
/// Limit: a larger `auth.json` is a configuration error.
const MAX_AUTH_FILE_BYTES: u64 = 1 << 20;

/// Permission bits of group and others.
const OTHERS: u32 = 0o077;

/// What `auth.json` holds for one provider.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Stored {
    Key(String),
    Login(Tokens),
    /// A login that only another program understands.
    ForeignLogin,
    /// An entry without a credential.
    Nothing,
    Unknown,
}

impl Stored {
    fn of(entry: &Value) -> Self {
        if holds_nothing(entry) {
            return Self::Nothing;
        }
        if let Some(key) = entry.as_str().or_else(|| key_of_entry(entry)) {
            return Self::Key(key.to_owned());
        }
        match Tokens::of_entry(entry) {
            Some(tokens) => Self::Login(tokens),
            None if is_oauth(entry) => Self::ForeignLogin,
            None => Self::Unknown,
        }
    }
}

/// Returns what is stored for `provider`; `None` if there is no file or no entry.
pub(crate) fn stored(path: &Path, provider: &str) -> Result<Option<Stored>, CredentialError> {
    let entry = entries(path)?.find(provider);
    Ok(entry.as_ref().map(Stored::of))
}

/// Returns what is stored for each provider, sorted by name.
pub(crate) fn all_stored(path: &Path) -> Result<Vec<(String, Stored)>, CredentialError> {
    let stored = entries(path)?.all().into_iter();
    Ok(stored
        .map(|(name, entry)| (name, Stored::of(&entry)))
        .collect())
}

/// Returns the entries in the file; none if there is no file.
pub(crate) fn entries(path: &Path) -> Result<Entries, CredentialError> {
    let Some(text) = read_private(path, MAX_AUTH_FILE_BYTES)? else {
        return Ok(Entries::default());
    };
    serde_json::from_str(&text).map_err(|error| CredentialError::Malformed {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
    })
}

/// Reads a file of at most `limit` bytes that only we can access; `None` if it does not exist.
///
/// The checks look at the opened file, not at the path, so it cannot be swapped in between.
pub fn read_private(path: &Path, limit: u64) -> Result<Option<String>, CredentialError> {
    let unreadable = |source| CredentialError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let Some(file) = open_regular(path).map_err(unreadable)? else {
        return Ok(None);
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(CredentialError::NotOwned {
            path: path.to_owned(),
            owner: metadata.uid(),
        });
    }
    let mode = metadata.mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(CredentialError::Unsafe {
            path: path.to_owned(),
            mode,
        });
    }
    let mut text = String::new();
    file.take(limit.saturating_add(1))
        .read_to_string(&mut text)
        .map_err(unreadable)?;
    if text.len() as u64 > limit {
        let problem = format!("larger than {limit} bytes");
        let problem = io::Error::new(io::ErrorKind::FileTooLarge, problem);
        return Err(unreadable(problem));
    }
    Ok(Some(text))
}

fn key_of_entry(entry: &Value) -> Option<&str> {
    ["api_key", "key"]
        .into_iter()
        .filter_map(|field| entry.get(field)?.as_str())
        .find(|key| !key.trim().is_empty())
}

fn is_oauth(entry: &Value) -> bool {
    let kind = entry.get("type").and_then(Value::as_str);
    kind == Some("oauth")
        || [
            "oauth",
            "access",
            "access_token",
            "refresh",
            "refresh_token",
        ]
        .into_iter()
        .any(|field| entry.get(field).is_some())
}

/// Quotes `path` for a shell.
pub(crate) fn shell_quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests;
