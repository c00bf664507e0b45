//! `$ZOT_HOME/mcp/logins.json`: what logins have left, readable by its owner only.
//!
//! A login belongs to the address of a server and to the issuer that granted it. Clients that were
//! registered belong to their issuer. One process at a time changes the file, or renews a login.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep};
use zot_files::{Lock, LockError};
use zot_process::Secret;

use super::OAuthError;
use super::client::Client;
use super::discovery::canonical;
use crate::transport::address;

/// Far more than any number of logins needs.
///
/// Limit: a larger `logins.json` is an error.
const MAX_LOGINS_BYTES: u64 = 4 << 20;

/// How long another process may take to renew a login.
///
/// Limit: the renewal fails with an error that names the lock.
const RENEWAL_PATIENCE: Duration = Duration::from_secs(60);
const RENEWAL_INTERVAL: Duration = Duration::from_millis(50);

const MODE: u32 = 0o600;

/// Where logins are kept.
#[derive(Debug, Clone)]
pub struct LoginStore {
    directory: PathBuf,
}

/// What may be shown of a login.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSummary {
    pub server: String,
    pub issuer: String,
    pub scopes: Vec<String>,
    /// When the access token expires.
    pub expires: Option<SystemTime>,
    /// Whether it can be renewed without the user.
    pub is_renewable: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Content {
    /// By the address of the server.
    #[serde(default)]
    logins: BTreeMap<String, StoredTokens>,
    /// By issuer.
    #[serde(default)]
    clients: BTreeMap<String, Client>,
    /// Scopes that a server has asked for since, by the address of the server.
    #[serde(default)]
    wanted: BTreeMap<String, String>,
}

/// The tokens of one server, and what renews them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredTokens {
    pub(super) issuer: String,
    pub(super) resource: String,
    pub(super) token_endpoint: String,
    pub(super) client: Client,
    #[serde(with = "secret_text")]
    pub(super) access: Secret,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "secret_text::optional"
    )]
    pub(super) refresh: Option<Secret>,
    /// In seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    /// What was granted, as far as the server said so.
    #[serde(default)]
    pub(super) scopes: Vec<String>,
}

impl StoredTokens {
    /// Returns whether the access token is still valid after `margin`.
    pub(super) fn lasts(&self, margin: Duration) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default() + margin;
        self.expires_at.is_none_or(|at| at > now.as_secs())
    }
}

impl LoginStore {
    /// `home` is `$ZOT_HOME`.
    pub fn new(home: &Path) -> Self {
        Self {
            directory: home.join("mcp"),
        }
    }

    /// Returns what is known about the login at a server.
    pub fn summary(&self, server: &str) -> Result<Option<LoginSummary>, OAuthError> {
        let tokens = self.tokens(server)?;
        Ok(tokens.map(|tokens| LoginSummary {
            server: key(server),
            issuer: tokens.issuer,
            scopes: tokens.scopes,
            expires: tokens
                .expires_at
                .and_then(|at| UNIX_EPOCH.checked_add(Duration::from_secs(at))),
            is_renewable: tokens.refresh.is_some(),
        }))
    }

    /// Forgets the login at a server; returns whether there was one. The client stays registered.
    pub fn remove(&self, server: &str) -> Result<bool, OAuthError> {
        if !self.path().exists() {
            return Ok(false);
        }
        let key = key(server);
        self.change(|content| {
            content.wanted.remove(&key);
            content.logins.remove(&key).is_some()
        })
    }

    pub(super) fn tokens(&self, server: &str) -> Result<Option<StoredTokens>, OAuthError> {
        Ok(self.read()?.logins.remove(&key(server)))
    }

    /// Keeps the tokens of a finished login or renewal, and nothing that was still wanted before it.
    pub(super) fn put(&self, server: &str, tokens: StoredTokens) -> Result<(), OAuthError> {
        let key = key(server);
        self.change(|content| {
            content.wanted.remove(&key);
            content.logins.insert(key, tokens);
        })
    }

    /// Returns the client that is registered at an issuer.
    pub(super) fn client(&self, issuer: &str) -> Result<Option<Client>, OAuthError> {
        Ok(self.read()?.clients.remove(issuer))
    }

    pub(super) fn put_client(&self, issuer: &str, client: Client) -> Result<(), OAuthError> {
        let issuer = issuer.to_owned();
        self.change(|content| drop(content.clients.insert(issuer, client)))
    }

    /// Forgets a client that its issuer no longer knows.
    pub(super) fn remove_client(&self, issuer: &str) -> Result<(), OAuthError> {
        self.change(|content| drop(content.clients.remove(issuer)))
    }

    /// Returns the challenge that the next login has to satisfy.
    pub(super) fn wanted(&self, server: &str) -> Result<Option<String>, OAuthError> {
        Ok(self.read()?.wanted.remove(&key(server)))
    }

    /// Keeps the challenge of a refused request for the next login, in whichever process that is.
    pub(super) fn put_wanted(&self, server: &str, challenge: &str) -> Result<(), OAuthError> {
        let key = key(server);
        if self.wanted(server)?.as_deref() == Some(challenge) {
            return Ok(());
        }
        self.change(|content| drop(content.wanted.insert(key, challenge.to_owned())))
    }

    /// Waits until no other process renews the login at `server`, and keeps them from it.
    pub(super) async fn lock_renewal(&self, server: &str) -> Result<Lock, OAuthError> {
        self.create_directory()?;
        let digest = Sha256::digest(key(server));
        let short: String = digest
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let path = self.directory.join(format!("renewal-{short}.lock"));
        let deadline = Instant::now() + RENEWAL_PATIENCE;
        loop {
            match Lock::try_acquire(&path) {
                Ok(lock) => return Ok(lock),
                Err(LockError::Held) if Instant::now() < deadline => sleep(RENEWAL_INTERVAL).await,
                Err(error) => return Err(failed(&path, &error.into())),
            }
        }
    }

    fn path(&self) -> PathBuf {
        self.directory.join("logins.json")
    }

    fn read(&self) -> Result<Content, OAuthError> {
        let path = self.path();
        let text = zot_auth::read_private(&path, MAX_LOGINS_BYTES)
            .map_err(|error| OAuthError::Store(error.to_string()))?;
        match text {
            None => Ok(Content::default()),
            Some(text) => serde_json::from_str(&text).map_err(|error| {
                OAuthError::Store(format!(
                    "{} cannot be read ({error}): remove it, and log in again",
                    path.display()
                ))
            }),
        }
    }

    fn change<T>(&self, change: impl FnOnce(&mut Content) -> T) -> Result<T, OAuthError> {
        self.create_directory()?;
        let path = self.path();
        let lock = path.with_extension("json.lock");
        let _lock = Lock::acquire(&lock).map_err(|error| failed(&lock, &error.into()))?;
        let mut content = self.read()?;
        let outcome = change(&mut content);
        let mut text =
            serde_json::to_string_pretty(&content).map_err(|error| failed(&path, &error.into()))?;
        text.push('\n');
        zot_files::replace(&path, text.as_bytes(), MODE).map_err(|error| failed(&path, &error))?;
        Ok(outcome)
    }

    fn create_directory(&self) -> Result<(), OAuthError> {
        zot_files::create_private_directory(&self.directory)
            .map_err(|error| failed(&self.directory, &error))
    }
}

/// Returns the name of a server in the file: addresses that mean the same have the same.
fn key(server: &str) -> String {
    match address::parse(server) {
        Ok(uri) => canonical(&uri),
        Err(_) => server.to_owned(),
    }
}

fn failed(path: &Path, error: &io::Error) -> OAuthError {
    OAuthError::Store(format!("cannot use {}: {error}", path.display()))
}

/// Secrets are plain text in the file.
pub(super) mod secret_text {
    use serde::{Deserialize as _, Deserializer, Serializer};
    use zot_process::Secret;

    pub(in crate::oauth) fn serialize<S: Serializer>(
        secret: &Secret,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret)
    }

    pub(in crate::oauth) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Secret, D::Error> {
        String::deserialize(deserializer).map(Secret::from)
    }

    pub(in crate::oauth) mod optional {
        use serde::{Deserialize as _, Deserializer, Serializer};
        use zot_process::Secret;

        pub(in crate::oauth) fn serialize<S: Serializer>(
            secret: &Option<Secret>,
            serializer: S,
        ) -> Result<S::Ok, S::Error> {
            match secret {
                Some(secret) => serializer.serialize_some(&**secret),
                None => serializer.serialize_none(),
            }
        }

        pub(in crate::oauth) fn deserialize<'de, D: Deserializer<'de>>(
            deserializer: D,
        ) -> Result<Option<Secret>, D::Error> {
            Ok(Option::<String>::deserialize(deserializer)?.map(Secret::from))
        }
    }
}

#[cfg(test)]
mod tests;
