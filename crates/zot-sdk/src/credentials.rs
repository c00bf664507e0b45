//! Stores, checks and lists the credentials of providers.

use std::fmt;
use std::path::PathBuf;
use std::time::SystemTime;

use zot_auth::{
    AuthFile, CodeLogin, Credential, CredentialSource, DeviceLogin, OAuthClient, OAuthError,
    StoredCredential, TokenKeeper, Tokens, masked,
};
use zot_provider::catalog::Catalog;
use zot_provider::live::{self, LiveError, LiveModel, ModelCache};
use zot_provider::{ApiKey, Endpoint, HttpClient, KeyRequirement, ProviderEntry};

use crate::assembly::connecting::{HttpTransport, oauth_client};
use crate::assembly::{AssemblyError, entry_credential, unknown_provider, variable};
use crate::known_secrets::known_secrets;
use crate::live_models::{CACHE, LiveModels};
use crate::tables::Tables;

pub use zot_auth::CredentialError;

/// The credentials of a user.
pub struct Credentials {
    home: PathBuf,
    tables: Tables,
    file: AuthFile,
    http: HttpClient,
}

/// The result of checking a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyCheck {
    /// The provider accepts the key.
    Accepted {
        /// How many models the provider lists.
        models: usize,
    },
    /// The provider has no list of models, so the key could not be checked.
    Unchecked,
}

/// Whether a key is checked before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyProbe {
    /// The provider is asked.
    Asked,
    /// The key is stored unchecked.
    Skipped,
}

/// A key that was stored in `auth.json`. Displays without the secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredKey {
    /// The name of the provider.
    pub provider: String,
    /// The end of the key, enough to recognise it.
    pub shown: String,
    /// The path of `auth.json`.
    pub file: PathBuf,
    /// The result of the check; `None` if it was skipped.
    pub check: Option<KeyCheck>,
}

impl fmt::Display for StoredKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            provider,
            shown,
            file,
            check,
        } = self;
        let found = match check {
            None => "not checked".to_owned(),
            Some(KeyCheck::Accepted { models: 1 }) => "it works, 1 model".to_owned(),
            Some(KeyCheck::Accepted { models }) => format!("it works, {models} models"),
            Some(KeyCheck::Unchecked) => "the provider cannot check keys".to_owned(),
        };
        let file = file.display();
        write!(
            formatter,
            "Stored the {provider} key {shown} in {file} ({found})."
        )
    }
}

/// A key was not stored.
#[derive(Debug, thiserror::Error)]
pub enum KeyNotStored {
    /// The provider refused the key.
    #[error("{0}; the key was not stored")]
    Refused(KeyRefused),
    /// The provider could not be reached.
    #[error("the key could not be checked ({0}), so it was not stored")]
    Untried(KeyRefused),
    /// The key could not be stored.
    #[error(transparent)]
    Unwritable(#[from] AssemblyError),
}

/// The credential of a provider, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialStatus {
    /// The name of the provider.
    pub provider: String,
    /// What it is.
    pub kind: CredentialKind,
    /// For example `$OPENAI_API_KEY`, or the path of `auth.json`.
    pub source: String,
    /// The end of the secret, enough to recognise it.
    pub shown: String,
    /// When a login expires unless it is renewed, which happens automatically where possible.
    pub expires: Option<SystemTime>,
    /// Why it cannot be used and how to fix that.
    pub problem: Option<String>,
}

/// Every credential that was found.
#[derive(Debug)]
pub struct CredentialReport {
    /// The credentials, in the order they are used.
    pub credentials: Vec<CredentialStatus>,
    /// Why `auth.json` cannot be used; then only the environment was searched.
    pub problem: Option<CredentialError>,
}

/// The kind of a credential.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialKind {
    /// An API key.
    Key,
    /// Tokens of a login.
    Login,
    /// An entry that only another program understands.
    Foreign,
}

impl CredentialKind {
    /// Returns the name of the kind, as in `zot auth status --json`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "api_key",
            Self::Login => "login",
            Self::Foreign => "foreign",
        }
    }
}

impl Credentials {
    /// Opens the credentials below `home`, or below `$ZOT_HOME`.
    pub fn open(home: Option<PathBuf>) -> Result<Self, AssemblyError> {
        let home = home.unwrap_or_else(|| zot_auth::zot_home(&variable));
        Ok(Self {
            tables: Tables::load(&home)?,
            file: AuthFile::new(home.join("auth.json")),
            http: HttpClient::new(),
            home,
        })
    }

    /// Returns the catalog of models, without the lists of providers.
    pub fn catalog(&self) -> &Catalog {
        &self.tables.catalog
    }

    /// Returns which entries of `models.json` and `providers.json` are ignored, and why.
    pub fn problems(&self) -> &[String] {
        &self.tables.problems
    }

    /// Returns the main name of the provider with this name or alias.
    pub fn canonical<'a>(&'a self, name: &'a str) -> &'a str {
        let entry = self.tables.providers.get(name);
        entry.map_or(name, |entry| &entry.name)
    }

    /// Returns `auth.json`.
    pub fn file(&self) -> &AuthFile {
        &self.file
    }

    /// Returns the providers that take a key, those that need one first.
    pub fn providers(&self) -> Vec<String> {
        let (needed, optional): (Vec<_>, Vec<_>) = self
            .tables
            .providers
            .iter()
            .partition(|entry| entry.key == KeyRequirement::Needed);
        let entries = needed.into_iter().chain(optional);
        entries.map(|entry| entry.name.to_string()).collect()
    }

    /// Returns all known secrets of all providers, to keep them out of shared files.
    pub fn secrets(&self) -> Vec<String> {
        known_secrets(&self.home, &self.tables.providers, &variable)
    }

    /// Returns how to log in to `provider`; `None` if it takes a key.
    pub fn login(&self, provider: &str) -> Result<Option<OAuthClient>, AssemblyError> {
        let entry = self.entry(provider)?;
        Ok(entry.oauth.as_deref().map(oauth_client))
    }

    /// Asks the provider whether it accepts the key.
    pub async fn check(&self, provider: &str, key: &str) -> Result<KeyCheck, KeyRefused> {
        let entry = self.entry(provider).map_err(KeyRefused::from)?;
        let endpoint = Endpoint {
            provider: entry.name.to_string(),
            base_url: entry.base_url.to_string(),
            api_key: Some(ApiKey::from(key)),
        };
        match live::fetch(&self.http, entry.wire, &endpoint).await {
            Ok(models) => {
                let count = models.len();
                // The key is valid even if the list cannot be cached.
                let _ = self.remember(entry, models);
                Ok(KeyCheck::Accepted { models: count })
            }
            Err(LiveError::NoList { .. }) => Ok(KeyCheck::Unchecked),
            Err(error @ LiveError::Refused { .. }) => Err(KeyRefused {
                by_provider: true,
                reason: error.to_string(),
            }),
            Err(error) => Err(KeyRefused {
                by_provider: false,
                reason: error.to_string(),
            }),
        }
    }

    /// Fetches the lists of models of `only` that provider, or of all with a credential. Returns the
    /// number of models or the error for each.
    pub async fn refresh_models(
        &self,
        only: Option<&str>,
    ) -> Result<Vec<(String, Result<usize, String>)>, AssemblyError> {
        let wanted: Vec<&ProviderEntry> = match only {
            Some(name) => vec![self.entry(name)?],
            None => self.tables.providers.iter().collect(),
        };
        let mut outcomes = Vec::new();
        for entry in wanted {
            let key = match entry_credential(entry, None, self.file.path()) {
                Ok(credential) => Some(self.key_of(entry, &credential).await),
                Err(_) if only.is_none() => continue,
                Err(_) if entry.key != KeyRequirement::Needed => None,
                Err(error) => return Err(error.into()),
            };
            let outcome = match key.transpose() {
                Err(problem) => Err(problem),
                Ok(api_key) => {
                    let live = LiveModels {
                        http: self.http.clone(),
                        wire: entry.wire,
                        endpoint: Endpoint {
                            provider: entry.name.to_string(),
                            base_url: entry.base_url.to_string(),
                            api_key,
                        },
                        cache: self.home.join(CACHE),
                        refresh: true,
                    };
                    live.renew().await
                }
            };
            outcomes.push((entry.name.to_string(), outcome));
        }
        Ok(outcomes)
    }

    /// Adds the cached lists of providers to `catalog`.
    pub fn add_live_models(&self, catalog: &mut Catalog) {
        let cache = ModelCache::load(&self.home.join(CACHE));
        for entry in self.tables.providers.iter() {
            if let Some(remembered) = cache.get(&entry.name, &entry.base_url) {
                catalog.add_live(&entry.name, &remembered.models);
            }
        }
    }

    /// Returns the key to send; a login is renewed first.
    async fn key_of(
        &self,
        entry: &ProviderEntry,
        credential: &Credential,
    ) -> Result<ApiKey, String> {
        let (Some(tokens), Some(oauth)) = (credential.login(), &entry.oauth) else {
            return Ok(ApiKey::from(credential.secret()));
        };
        let keeper = TokenKeeper::new(
            &entry.name,
            oauth_client(oauth),
            self.file.clone(),
            Box::new(HttpTransport(self.http.clone())),
            tokens.clone(),
        );
        let fresh = keeper.fresh().await.map_err(|error| error.to_string())?;
        Ok(ApiKey::token(fresh.access()))
    }

    fn remember(
        &self,
        entry: &ProviderEntry,
        models: Vec<LiveModel>,
    ) -> Result<(), live::CacheError> {
        let path = self.home.join(CACHE);
        ModelCache::remember(&path, &entry.name, &entry.base_url, models)
    }

    /// Checks a key, unless skipped, and stores it in `auth.json`.
    pub async fn keep_checked(
        &self,
        provider: &str,
        key: &str,
        probe: KeyProbe,
    ) -> Result<StoredKey, KeyNotStored> {
        let check = match probe {
            KeyProbe::Skipped => None,
            KeyProbe::Asked => match self.check(provider, key).await {
                Ok(check) => Some(check),
                Err(refused) if refused.by_provider => return Err(KeyNotStored::Refused(refused)),
                Err(refused) => return Err(KeyNotStored::Untried(refused)),
            },
        };
        self.keep_key(provider, key)?;
        Ok(StoredKey {
            provider: provider.to_owned(),
            shown: masked(key),
            file: self.file.path().to_owned(),
            check,
        })
    }

    /// Stores a key in `auth.json`.
    pub fn keep_key(&self, provider: &str, key: &str) -> Result<(), AssemblyError> {
        let entry = self.entry(provider)?;
        Ok(self.file.put_key(&entry.name, key)?)
    }

    /// Waits for the browser, and stores the login.
    pub async fn finish_code(
        &self,
        provider: &str,
        login: CodeLogin<'_>,
    ) -> Result<(), OAuthError> {
        let tokens = login.finish(&HttpTransport(self.http.clone())).await?;
        self.keep_login(provider, &tokens)
    }

    /// Requests a code for the user to enter on another device.
    pub async fn begin_device<'a>(
        &self,
        client: &'a OAuthClient,
        device_url: &str,
    ) -> Result<DeviceLogin<'a>, OAuthError> {
        DeviceLogin::begin(client, device_url, &HttpTransport(self.http.clone())).await
    }

    /// Waits until the code was entered, and stores the login.
    pub async fn finish_device(
        &self,
        provider: &str,
        login: DeviceLogin<'_>,
    ) -> Result<(), OAuthError> {
        let tokens = login.finish(&HttpTransport(self.http.clone())).await?;
        self.keep_login(provider, &tokens)
    }

    fn keep_login(&self, provider: &str, tokens: &Tokens) -> Result<(), OAuthError> {
        Ok(self.file.put_login(self.canonical(provider), tokens)?)
    }

    /// Returns the credentials in the environment, which do not depend on `auth.json`.
    pub fn environment(&self) -> Vec<CredentialStatus> {
        let mut found = Vec::new();
        for entry in self.tables.providers.iter() {
            let Ok(credential) = entry_credential(entry, None, self.file.path()) else {
                continue;
            };
            if let CredentialSource::Variable(_) = credential.source() {
                found.push(CredentialStatus {
                    provider: entry.name.to_string(),
                    kind: CredentialKind::Key,
                    source: credential.source().to_string(),
                    shown: masked(credential.secret()),
                    expires: None,
                    problem: None,
                });
            }
        }
        found
    }

    /// Returns every credential, even if `auth.json` cannot be used.
    pub fn report(&self) -> CredentialReport {
        match self.status() {
            Ok(credentials) => CredentialReport {
                credentials,
                problem: None,
            },
            Err(problem) => CredentialReport {
                credentials: self.environment(),
                problem: Some(problem),
            },
        }
    }

    /// Returns all credentials in the order they are used: a variable comes before the entry of
    /// `auth.json` that it overrides.
    pub fn status(&self) -> Result<Vec<CredentialStatus>, CredentialError> {
        let stored = self.file.entries()?;
        let mut found = self.environment();
        let path = self.file.path().display().to_string();
        for (provider, credential) in stored {
            let (kind, shown, expires) = match &credential {
                StoredCredential::Key(key) => (CredentialKind::Key, masked(key), None),
                StoredCredential::Login(tokens) => (
                    CredentialKind::Login,
                    masked(tokens.access()),
                    tokens.expires(),
                ),
                StoredCredential::Foreign => (CredentialKind::Foreign, String::new(), None),
            };
            let problem = self.tables.providers.get(&provider).and_then(|entry| {
                let found = entry_credential(entry, None, self.file.path());
                found.err().map(|error| error.to_string())
            });
            found.push(CredentialStatus {
                problem,
                provider,
                kind,
                source: path.clone(),
                shown,
                expires,
            });
        }
        Ok(found)
    }

    fn entry(&self, provider: &str) -> Result<&ProviderEntry, AssemblyError> {
        let providers = &self.tables.providers;
        if let Some(problem) = providers.problem_of(provider) {
            return Err(problem.clone().into());
        }
        providers
            .get(provider)
            .ok_or_else(|| unknown_provider(provider.to_owned(), providers, &[]))
    }
}

/// A key was not accepted.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub struct KeyRefused {
    /// Whether the provider refused it; otherwise it could not be reached.
    pub by_provider: bool,
    reason: String,
}

impl From<AssemblyError> for KeyRefused {
    fn from(error: AssemblyError) -> Self {
        Self {
            by_provider: false,
            reason: error.to_string(),
        }
    }
}
