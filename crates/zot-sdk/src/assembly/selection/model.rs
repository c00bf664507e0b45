//! Selects a model of a provider.

use zot_provider::catalog::{Catalog, ModelInfo, today};
use zot_provider::{ProviderEntry, Providers};

use super::{Selected, Selector};
use crate::assembly::clients::is_own_server;
use crate::assembly::{AssemblyError, OFFLINE};
use crate::live_models;
use crate::runtime::did_you_mean;

impl<'a> Selector<'a> {
    /// Returns the requested model, or the preferred one if it fits the provider.
    pub(super) fn wanted_model(
        &self,
        catalog: &Catalog,
        entry: &ProviderEntry,
        warnings: &mut Vec<String>,
    ) -> Option<&'a str> {
        let wanted = self.wanted;
        if let Some(model) = wanted.model.as_deref().filter(|model| !model.is_empty()) {
            return Some(model);
        }
        let preferred = &wanted.preferred;
        let model = preferred.model.as_deref()?;
        let is_known = catalog.find(&entry.name, model).is_some();
        let fits = match &preferred.provider {
            Some(preferred) => is_same(self.providers, preferred, entry),
            None => {
                let is_guessed = wanted.provider.is_none() && self.given_base_url().is_none();
                is_guessed || is_known
            }
        };
        // On a server that the user runs, any model may exist. `--base-url` may differ each time.
        let is_own = is_own_server(entry, &entry.base_url);
        let is_covered = catalog.covers(&entry.catalog) && !is_own;
        if fits && !is_known && is_covered && is_foreign(catalog, model) {
            warnings.push(format!(
                "model {model:?} of config.json is not one of {}; using {}",
                entry.name, entry.default_model
            ));
            return None;
        }
        fits.then_some(model)
    }

    /// Returns the `named` model or the default one, and whether the runtime may switch to models
    /// outside the catalog.
    pub(super) fn model(
        &self,
        catalog: &mut Catalog,
        entry: &ProviderEntry,
        named: Option<&str>,
        warnings: &mut Vec<String>,
    ) -> Result<(ModelInfo, bool), AssemblyError> {
        let is_uncatalogued = !catalog.covers(&entry.catalog);
        let wanted = named.unwrap_or(&entry.default_model);
        if wanted.is_empty() {
            return Err(AssemblyError::NoModel {
                provider: entry.name.to_string(),
            });
        }
        let is_catalogued = catalog.find(&entry.name, wanted).is_some();
        let given_url = self.given_base_url();
        if given_url.is_none() {
            live_models::look_up(catalog, entry, wanted, &self.model_cache());
        }
        let is_known = catalog.find(&entry.name, wanted).is_some();
        let is_own = is_own_server(entry, given_url.unwrap_or(&entry.base_url));
        if !is_known && !is_uncatalogued && !is_own && is_foreign(catalog, wanted) {
            return Err(unknown_model(catalog, &entry.name, wanted));
        }
        let model = find_model(catalog, &entry.name, wanted, Names::Any)
            .ok_or_else(|| unknown_model(catalog, &entry.name, wanted))?;
        if !is_catalogued {
            let nearest = match is_known {
                true => Vec::new(),
                false => nearest(catalog, &entry.name, wanted),
            };
            warnings.push(outside_catalog(wanted, &nearest));
        }
        // Another server may still offer a model of that name.
        if self.wanted.base_url.is_none() && model.base_url.is_none() {
            warnings.extend(model.deprecation_warning(today()));
        }
        // A server with one uncatalogued model may have others.
        Ok((model, is_uncatalogued || !is_known))
    }

    pub(super) fn offline(&self, catalog: &Catalog) -> Result<Selected, AssemblyError> {
        let preferred = &self.wanted.preferred;
        let preferred_model = preferred.model.as_deref();
        let wanted = self
            .wanted
            .model
            .as_deref()
            .or(preferred_model.filter(|model| match &preferred.provider {
                Some(provider) => provider == OFFLINE,
                None => catalog.find(OFFLINE, model).is_some(),
            }))
            .unwrap_or(OFFLINE);
        let model = find_model(catalog, OFFLINE, wanted, Names::Known)
            .ok_or_else(|| unknown_model(catalog, OFFLINE, wanted))?;
        Ok(Selected {
            provider: OFFLINE.to_owned(),
            model,
            open_models: false,
            credential: None,
            network: None,
            warnings: Vec::new(),
        })
    }
}

/// Which names of models are accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Names {
    /// Those of the catalog.
    Known,
    /// All except an empty one.
    Any,
}

/// Returns the model called `id`.
pub(crate) fn find_model(
    catalog: &Catalog,
    provider: &str,
    id: &str,
    names: Names,
) -> Option<ModelInfo> {
    match catalog.find(provider, id) {
        Some(model) => Some(model.clone()),
        None if names == Names::Any && !id.is_empty() => Some(ModelInfo::unknown(provider, id)),
        None => None,
    }
}

/// Returns the names of models that `id` may be a misspelling of.
pub(crate) fn nearest(catalog: &Catalog, provider: &str, id: &str) -> Vec<String> {
    catalog
        .nearest(provider, id)
        .into_iter()
        .map(ToOwned::to_owned)
        .collect()
}

/// Returns the warning about a model that is not in the catalog.
pub(crate) fn outside_catalog(model: &str, nearest: &[String]) -> String {
    format!(
        "model {model:?} is not in the catalog, so its context window and price are unknown; \
         models.json can name them{}",
        did_you_mean(nearest)
    )
}

/// Returns whether the name belongs to another provider's model. Names with a slash are shared by many
/// hosts and gateways, so they identify no provider.
fn is_foreign(catalog: &Catalog, model: &str) -> bool {
    !model.contains('/') && catalog.find_anywhere(model).is_some()
}

/// Returns whether `name` is a name of `entry`.
fn is_same(providers: &Providers, name: &str, entry: &ProviderEntry) -> bool {
    providers
        .get(name)
        .is_some_and(|named| named.name == entry.name)
}

fn unknown_model(catalog: &Catalog, provider: &str, model: &str) -> AssemblyError {
    AssemblyError::UnknownModel {
        model: model.to_owned(),
        provider: provider.to_owned(),
        elsewhere: catalog
            .find_anywhere(model)
            .map(|model| model.provider.to_string()),
        nearest: nearest(catalog, provider, model),
    }
}
