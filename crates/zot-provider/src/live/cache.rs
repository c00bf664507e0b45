//! `$ZOT_HOME/models-cache.json`. An unreadable file counts as missing: it can be fetched again.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use zot_files::Lock;

use super::LiveModel;
use crate::catalog::Deprecation;

/// How long a list counts as current. An older one is still better than none.
///
/// Limit: the provider is asked for its models again.
pub const MAX_MODEL_LIST_AGE: Duration = Duration::from_secs(6 * 3600);

/// Limit: a larger `models-cache.json` is ignored.
const MAX_MODELS_CACHE_BYTES: u64 = 16 << 20;
const MODE: u32 = 0o600;

/// The list could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {}: {source}", .path.display())]
pub struct CacheError {
    path: PathBuf,
    source: io::Error,
}

/// The latest lists of all providers.
#[derive(Debug, Default)]
pub struct ModelCache {
    providers: BTreeMap<String, RememberedModels>,
}

/// The latest list of one provider.
#[derive(Debug, Clone)]
pub struct RememberedModels {
    pub models: Vec<LiveModel>,
    fetched: SystemTime,
    /// The address that the list came from: another address is another server.
    base_url: String,
}

impl RememberedModels {
    pub fn is_current(&self) -> bool {
        // A list from the future is not current: the clock was set back.
        SystemTime::now()
            .duration_since(self.fetched)
            .is_ok_and(|age| age < MAX_MODEL_LIST_AGE)
    }
}

#[derive(Serialize, Deserialize)]
struct CacheFile {
    #[serde(default)]
    providers: BTreeMap<String, ProviderRecord>,
}

#[derive(Serialize, Deserialize)]
struct ProviderRecord {
    fetched_at: u64,
    base_url: String,
    models: Vec<ModelRecord>,
}

#[derive(Serialize, Deserialize)]
struct ModelRecord {
    id: String,
    name: String,
    #[serde(default)]
    context_window: u64,
    #[serde(default)]
    max_output: u64,
    /// A date such as 2026-11-30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ends: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    replacement: Option<String>,
}

impl ModelCache {
    /// Reads the file, if it exists and is valid.
    pub fn load(path: &Path) -> Self {
        let text = zot_files::read_limited(path, MAX_MODELS_CACHE_BYTES)
            .ok()
            .flatten();
        let file: Option<CacheFile> = text.and_then(|text| serde_json::from_str(&text).ok());
        let records = file.map(|file| file.providers).unwrap_or_default();
        Self {
            providers: records
                .into_iter()
                .map(|(name, record)| (name, record.into_remembered()))
                .collect(),
        }
    }

    /// Returns the list of `provider`, if it came from that address.
    pub fn get(&self, provider: &str, base_url: &str) -> Option<&RememberedModels> {
        let remembered = self.providers.get(provider)?;
        (remembered.base_url == base_url).then_some(remembered)
    }

    /// Saves the list that `provider` just returned, and keeps those of the others.
    pub fn remember(
        path: &Path,
        provider: &str,
        base_url: &str,
        models: Vec<LiveModel>,
    ) -> Result<(), CacheError> {
        let failed = |source| CacheError {
            path: path.to_owned(),
            source,
        };
        if let Some(directory) = path.parent() {
            zot_files::create_private_directory(directory).map_err(failed)?;
        }
        let lock = path.with_extension("json.lock");
        let _lock = Lock::acquire(&lock).map_err(|error| failed(error.into()))?;
        let mut cache = Self::load(path);
        let remembered = RememberedModels {
            models,
            fetched: SystemTime::now(),
            base_url: base_url.to_owned(),
        };
        cache.providers.insert(provider.to_owned(), remembered);
        let records = cache.providers.into_iter();
        let file = CacheFile {
            providers: records
                .map(|(name, remembered)| (name, remembered.into()))
                .collect(),
        };
        let text = serde_json::to_string(&file).map_err(|error| failed(error.into()))?;
        zot_files::replace(path, text.as_bytes(), MODE).map_err(failed)
    }
}

impl ModelRecord {
    fn deprecation(&self) -> Option<Deprecation> {
        Some(Deprecation {
            ends: self.ends.as_ref()?.parse().ok()?,
            replacement: self.replacement.clone().map(Cow::Owned),
        })
    }
}

impl ProviderRecord {
    fn into_remembered(self) -> RememberedModels {
        let models = self.models.into_iter();
        RememberedModels {
            models: models
                .map(|model| LiveModel {
                    deprecation: model.deprecation(),
                    id: model.id,
                    name: model.name,
                    context_window: model.context_window,
                    max_output: model.max_output,
                })
                .collect(),
            fetched: UNIX_EPOCH
                .checked_add(Duration::from_secs(self.fetched_at))
                .unwrap_or(UNIX_EPOCH),
            base_url: self.base_url,
        }
    }
}

impl From<RememberedModels> for ProviderRecord {
    fn from(remembered: RememberedModels) -> Self {
        let since = remembered.fetched.duration_since(UNIX_EPOCH);
        let models = remembered.models.into_iter();
        Self {
            fetched_at: since.unwrap_or_default().as_secs(),
            base_url: remembered.base_url,
            models: models
                .map(|model| ModelRecord {
                    id: model.id,
                    name: model.name,
                    context_window: model.context_window,
                    max_output: model.max_output,
                    ends: model.deprecation.as_ref().map(|end| end.ends.to_string()),
                    replacement: model
                        .deprecation
                        .and_then(|end| end.replacement.map(Cow::into_owned)),
                })
                .collect(),
        }
    }
}
