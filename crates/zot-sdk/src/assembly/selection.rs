//! Selects provider, model and credential from what was asked for and what is available.

pub(crate) mod credential;
pub(crate) mod model;
mod provider;

use std::path::{Path, PathBuf};

use zot_auth::{AuthFile, Credential};
use zot_conversation::ReasoningEffort;
use zot_provider::catalog::{Catalog, ModelInfo};
use zot_provider::network::{NetworkSettings, Plan, PlanError};
use zot_provider::{Endpoint, HttpClient, ProviderEntry, Providers, Wire, effort_note};

use super::clients::{Way, Ways};
use super::connecting::Connection;
use super::{AssemblyError, OFFLINE};
use crate::config::ModelChoice;
use crate::live_models;

/// A model and how to reach it.
pub(crate) struct Selected {
    pub(crate) provider: String,
    pub(crate) model: ModelInfo,
    /// Whether the runtime may switch to models outside the catalog.
    pub(crate) open_models: bool,
    pub(crate) credential: Option<Credential>,
    /// `None` for the offline stand-in and a replay, which need no network.
    pub(crate) network: Option<Network>,
    pub(crate) warnings: Vec<String>,
}

/// How the model and others of its provider are reached.
pub(crate) struct Network {
    pub(crate) way: Way,
    pub(crate) ways: Ways,
}

/// Selects a model. Reads `auth.json`, the cache of live models and the variables that hold keys;
/// starts and contacts nothing.
pub(crate) struct Selector<'a> {
    pub(crate) wanted: &'a ModelChoice,
    pub(crate) reasoning: Option<ReasoningEffort>,
    pub(crate) providers: &'a Providers,
    pub(crate) auth_file: &'a Path,
}

impl<'a> Selector<'a> {
    /// Selects a model. If `catalog` lacks it, the provider's cached list is added.
    pub(crate) fn select(&self, catalog: &mut Catalog) -> Result<Selected, AssemblyError> {
        let mut warnings = Vec::new();
        let name = self.provider_name(catalog, &mut warnings)?;
        if name == OFFLINE {
            return self.offline(catalog);
        }
        let entry = self.entry(name)?;
        if entry.catalog != entry.name {
            catalog.share(&entry.catalog, &entry.name);
        }
        let named = self.wanted_model(catalog, entry, &mut warnings);
        let (model, open_models) = self.model(catalog, entry, named, &mut warnings)?;
        let credential = self.credential(entry, &model)?;
        let network = self.network(entry, &model, named);
        warnings.extend(self.ignored_settings(entry, &model, &network.way));
        check_base_url(entry, &network.way)?;
        Ok(Selected {
            provider: entry.name.to_string(),
            model,
            open_models,
            credential,
            network: Some(network),
            warnings,
        })
    }

    /// Returns `--base-url`, unless it is empty.
    fn given_base_url(&self) -> Option<&'a str> {
        let given = self.wanted.base_url.as_deref();
        given.filter(|url| !url.trim().is_empty())
    }

    fn model_cache(&self) -> PathBuf {
        self.auth_file.with_file_name(live_models::CACHE)
    }

    fn network(&self, entry: &ProviderEntry, model: &ModelInfo, named: Option<&str>) -> Network {
        let given_url = self.given_base_url();
        let ways = Ways {
            entry: entry.clone(),
            forced: self.wanted.wire,
            given_url: given_url.map(ToOwned::to_owned),
        };
        let mut way = ways.to(model);
        // An unknown server is expected to support chat completions only.
        if named.is_none() && given_url.is_some() {
            way.route = way.route.chat_first();
        }
        Network { way, ways }
    }

    /// Returns a warning for each setting that has no effect on this model.
    fn ignored_settings(&self, entry: &ProviderEntry, model: &ModelInfo, way: &Way) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.wanted.wire.is_some() && matches!(entry.wire, Wire::Anthropic | Wire::Gemini) {
            warnings.push(format!(
                "--wire chooses between the two wires of OpenAI and has no effect on {}",
                entry.name
            ));
        }
        if let Some(effort) = self.reasoning
            && way.route.wire().takes_effort()
        {
            warnings.extend(effort_note(model, effort));
        }
        warnings
    }
}

fn check_base_url(entry: &ProviderEntry, way: &Way) -> Result<(), AssemblyError> {
    let endpoint = Endpoint {
        provider: entry.name.to_string(),
        base_url: way.base_url.clone(),
        api_key: None,
    };
    match Plan::new(&endpoint, None, &NetworkSettings::from_environment()) {
        Err(error @ PlanError::BaseUrl { .. }) => Err(AssemblyError::BaseUrl(error)),
        _ => Ok(()),
    }
}

impl Ways {
    pub(super) fn connection(
        &self,
        credential: Option<&Credential>,
        auth_file: &Path,
        http: &HttpClient,
        catalog: &Catalog,
    ) -> Connection {
        let entry = &self.entry;
        Connection::new(
            &entry.name,
            credential,
            entry.oauth.as_deref(),
            AuthFile::new(auth_file.to_owned()),
            http.clone(),
            catalog.accepted_thinking(&entry.name),
        )
    }
}
