//! Models that a provider lists itself: used if the catalog lacks one, refreshed in the background.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_provider::catalog::{Catalog, ModelInfo};
use zot_provider::live::{self, LiveError, ModelCache};
use zot_provider::{Endpoint, HttpClient, ProviderEntry, Providers, Wire};

/// The name of the cache file in `$ZOT_HOME`.
pub(crate) const CACHE: &str = "models-cache.json";

/// Adds the cached list of `entry` to `catalog`, if that lacks `model`.
pub(crate) fn look_up(catalog: &mut Catalog, entry: &ProviderEntry, model: &str, cache: &Path) {
    if catalog.find(&entry.name, model).is_none()
        && let Some(remembered) = ModelCache::load(cache).get(&entry.name, &entry.base_url)
    {
        catalog.add_live(&entry.name, &remembered.models);
    }
}

/// Returns the first provider whose cached list has `model`.
pub(crate) fn owner(providers: &Providers, model: &str, cache: &Path) -> Option<String> {
    let cache = ModelCache::load(cache);
    let has = |entry: &&ProviderEntry| {
        let remembered = cache.get(&entry.name, &entry.base_url);
        remembered.is_some_and(|list| list.models.iter().any(|live| live.id == model))
    };
    let entry = providers.iter().find(has)?;
    Some(entry.name.to_string())
}

/// The list of models of a runtime's provider.
#[derive(Clone)]
pub(crate) struct LiveModels {
    pub(crate) http: HttpClient,
    pub(crate) wire: Wire,
    /// Its key is renewed together with the client's.
    pub(crate) endpoint: Endpoint,
    pub(crate) cache: PathBuf,
    /// Whether the list may be refreshed in the background.
    pub(crate) refresh: bool,
}

impl LiveModels {
    /// Returns `catalog` with the cached list added.
    pub(crate) fn added_to(&self, catalog: &Arc<Catalog>) -> Arc<Catalog> {
        let cache = ModelCache::load(&self.cache);
        let Endpoint {
            provider, base_url, ..
        } = &self.endpoint;
        match cache.get(provider, base_url) {
            None => Arc::clone(catalog),
            Some(remembered) => {
                let mut catalog = Catalog::clone(catalog);
                catalog.add_live(provider, &remembered.models);
                Arc::new(catalog)
            }
        }
    }

    pub(crate) fn find(&self, catalog: &Arc<Catalog>, model: &str) -> Option<ModelInfo> {
        let catalog = self.added_to(catalog);
        catalog.find(&self.endpoint.provider, model).cloned()
    }

    /// Returns whether the cached list is old.
    pub(crate) fn is_due(&self) -> bool {
        let cache = ModelCache::load(&self.cache);
        let remembered = cache.get(&self.endpoint.provider, &self.endpoint.base_url);
        self.refresh && remembered.is_none_or(|list| !list.is_current())
    }

    /// Fetches the list and caches it; returns the number of models.
    pub(crate) async fn renew(&self) -> Result<usize, String> {
        let Endpoint {
            provider, base_url, ..
        } = &self.endpoint;
        let models = match live::fetch(&self.http, self.wire, &self.endpoint).await {
            Ok(models) => models,
            // Cached as well, so that the provider is not asked again and again.
            Err(LiveError::NoList { .. }) => Vec::new(),
            Err(error) => return Err(error.to_string()),
        };
        let count = models.len();
        ModelCache::remember(&self.cache, provider, base_url, models)
            .map_err(|error| error.to_string())?;
        Ok(count)
    }
}
