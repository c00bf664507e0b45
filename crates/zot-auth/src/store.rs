//! Changes `auth.json`: one process at a time, keeping other entries, never readable by other users.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zot_files::Lock;

use crate::auth_file::{self, Stored};
use crate::credential::{checked, given};
use crate::entries::Entries;
use crate::oauth::Tokens;
use crate::{CredentialError, CredentialSource};

const MODE: u32 = 0o600;

/// `$ZOT_HOME/auth.json`, which need not exist.
#[derive(Debug, Clone)]
pub struct AuthFile {
    path: PathBuf,
}

/// What is stored for one provider.
#[derive(Clone, PartialEq, Eq)]
pub enum StoredCredential {
    Key(String),
    Login(Tokens),
    /// Something that only another program understands.
    Foreign,
}

impl fmt::Debug for StoredCredential {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Key(_) => "Key([redacted])",
            Self::Login(_) => "Login([redacted])",
            Self::Foreign => "Foreign",
        })
    }
}

impl AuthFile {
    pub fn new(path: PathBuf) -> Self {
        Self { path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns what is stored for each provider.
    pub fn entries(&self) -> Result<Vec<(String, StoredCredential)>, CredentialError> {
        let entries = auth_file::all_stored(&self.path)?.into_iter();
        Ok(entries
            .map(|(name, stored)| {
                let stored = match stored {
                    Stored::Key(key) => StoredCredential::Key(key),
                    Stored::Login(tokens) => StoredCredential::Login(tokens),
                    Stored::ForeignLogin | Stored::Unknown | Stored::Nothing => {
                        StoredCredential::Foreign
                    }
                };
                (name, stored)
            })
            .collect())
    }

    /// Returns the login of `provider`, if there is one.
    pub fn login(&self, provider: &str) -> Result<Option<Tokens>, CredentialError> {
        Ok(match auth_file::stored(&self.path, provider)? {
            Some(Stored::Login(tokens)) => Some(tokens),
            _ => None,
        })
    }

    /// Stores an API key, without surrounding white space.
    pub fn put_key(&self, provider: &str, key: &str) -> Result<(), CredentialError> {
        let source = CredentialSource::File(self.path.clone());
        let key = checked(given(key).unwrap_or_default(), source)?;
        self.put(provider, |before| {
            let mut entry = json!({"type": "api_key", "api_key": key.secret()});
            // The original keeps a subscription login next to a key, which takes precedence in both.
            if let Some(login @ Value::Object(_)) = before.and_then(|before| before.get("oauth")) {
                entry["oauth"] = login.clone();
            }
            entry
        })
    }

    /// Stores a login.
    pub fn put_login(&self, provider: &str, tokens: &Tokens) -> Result<(), CredentialError> {
        self.put(provider, |before| tokens.to_entry(before))
    }

    /// Removes what is stored for `provider`; returns whether there was anything.
    pub fn remove(&self, provider: &str) -> Result<bool, CredentialError> {
        if !self.path.exists() {
            return Ok(false);
        }
        self.change(|entries| entries.remove(provider))
    }

    /// Removes everything; returns the providers that had credentials.
    pub fn remove_all(&self) -> Result<Vec<String>, CredentialError> {
        if !self.path.exists() {
            return Ok(Vec::new());
        }
        self.change(|entries| {
            let all = std::mem::take(entries).all().into_iter();
            Ok(all.map(|(name, _)| name).collect())
        })
    }

    /// Replaces the entry of `provider` with what `entry` makes from the previous one.
    fn put(
        &self,
        provider: &str,
        entry: impl FnOnce(Option<&Value>) -> Value,
    ) -> Result<(), CredentialError> {
        self.change(|entries| {
            let before = entries.find(provider);
            entries.put(provider, &entry(before.as_ref()))
        })
    }

    fn change<T>(
        &self,
        change: impl FnOnce(&mut Entries) -> serde_json::Result<T>,
    ) -> Result<T, CredentialError> {
        if let Some(directory) = self.path.parent() {
            zot_files::create_private_directory(directory)
                .map_err(|error| self.unwritable(error))?;
        }
        let lock = self.path.with_extension("json.lock");
        let _lock = Lock::acquire(&lock).map_err(|error| self.unwritable(error.into()))?;
        let mut entries = auth_file::entries(&self.path)?;
        let outcome = change(&mut entries).map_err(|error| self.unwritable(error.into()))?;
        let mut text = serde_json::to_string_pretty(&entries)
            .map_err(|error| self.unwritable(error.into()))?;
        text.push('\n');
        zot_files::replace(&self.path, text.as_bytes(), MODE)
            .map_err(|error| self.unwritable(error))?;
        Ok(outcome)
    }

    fn unwritable(&self, source: std::io::Error) -> CredentialError {
        CredentialError::Unwritable {
            path: self.path.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests;
