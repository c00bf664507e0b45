//! Chooses provider, model and credential from what the user said and what there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_auth::{AuthFile, Credential, CredentialError, Logins};
use zot_conversation::Model;
use zot_offline::OfflineModel;
use zot_provider::catalog::{Catalog, ModelInfo, nearest_names, today};
use zot_provider::network::{NetworkSettings, Plan, PlanError};
use zot_provider::{
    Endpoint, HttpClient, KeyRequirement, ProviderEntry, Providers, Wire, effort_note,
};

use super::clients::{Way, Ways, is_own_server};
use super::connecting::Connection;
use super::recording::REPLAY;
use super::{AssemblyError, OFFLINE, credential};
use crate::config::Config;
use crate::live_models;
use crate::runtime::did_you_mean;

/// What to talk to.
pub(crate) struct Selected {
    pub(crate) provider: String,
    pub(crate) model: ModelInfo,
    /// Whether another model outside the catalog may be switched to.
    pub(crate) open_models: bool,
    pub(crate) credential: Option<Credential>,
    /// `None` for what needs no network: the offline stand-in and a replay.
    pub(crate) network: Option<Network>,
    pub(crate) warnings: Vec<String>,
}

/// How the model is reached, and others of its provider.
pub(crate) struct Network {
    pub(crate) way: Way,
    pub(crate) ways: Ways,
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

impl Selected {
    /// A client for this model alone.
    pub(super) fn client(
        &self,
        auth_file: &Path,
        http: &HttpClient,
        catalog: &Catalog,
    ) -> Arc<dyn Model> {
        match &self.network {
            None => Arc::new(OfflineModel),
            Some(network) => network
                .ways
                .connection(self.credential.as_ref(), auth_file, http, catalog)
                .client(&network.way),
        }
    }
}

/// Decides before anything is started or contacted.
pub(crate) fn select(
    config: &Config,
    catalog: &mut Catalog,
    providers: &Providers,
    auth_file: &Path,
) -> Result<Selected, AssemblyError> {
    let mut warnings = Vec::new();
    let name = provider_name(config, catalog, providers, auth_file, &mut warnings)?;
    if name == OFFLINE {
        return offline(config, catalog);
    }
    if let Some(problem) = providers.problem_of(&name) {
        return Err(problem.clone().into());
    }
    let Some(entry) = providers.get(&name) else {
        return Err(unknown_provider(name, providers, &[OFFLINE, REPLAY]));
    };
    if entry.catalog != entry.name {
        catalog.share(&entry.catalog, &entry.name);
    }
    let uncatalogued = !catalog.covers(&entry.catalog);
    let named = wanted_model(config, catalog, providers, entry, &mut warnings);
    let wanted = named.unwrap_or(&entry.default_model);
    if wanted.is_empty() {
        return Err(AssemblyError::NoModel {
            provider: entry.name.to_string(),
        });
    }
    let catalogued = catalog.find(&entry.name, wanted).is_some();
    let given_url = given_base_url(config);
    if given_url.is_none() {
        live_models::look_up(catalog, entry, wanted, &model_cache(auth_file));
    }
    let catalog = &*catalog;
    let known = catalog.find(&entry.name, wanted).is_some();
    let is_own = is_own_server(entry, given_url.unwrap_or(&entry.base_url));
    if !known && !uncatalogued && !is_own && is_foreign(catalog, wanted) {
        return Err(unknown_model(catalog, &entry.name, wanted));
    }
    let model = find_model(catalog, &entry.name, wanted, true)
        .ok_or_else(|| unknown_model(catalog, &entry.name, wanted))?;
    if !catalogued {
        let nearest = match known {
            true => Vec::new(),
            false => nearest(catalog, &entry.name, wanted),
        };
        warnings.push(outside_catalog(wanted, &nearest));
    }
    // What another server calls by that name may live on.
    if config.model.base_url.is_none() && model.base_url.is_none() {
        warnings.extend(model.deprecation_warning(today()));
    }
    let found = entry_credential(entry, config.model.api_key.as_deref(), auth_file);
    let credential = match found {
        Ok(credential) => Some(credential),
        // A server of one's own often wants no key.
        Err(CredentialError::Missing { .. })
            if entry.key != KeyRequirement::Needed || given_url.is_some() || model.own_server =>
        {
            None
        }
        Err(error) => return Err(error.into()),
    };
    let ways = Ways {
        entry: entry.clone(),
        forced: config.model.wire,
        given_url: given_url.map(ToOwned::to_owned),
    };
    let mut way = ways.to(&model);
    // Of a server that only an address is given of, nothing more than chat completions is expected.
    if named.is_none() && given_url.is_some() {
        way.route = way.route.chat_first();
    }
    if config.model.wire.is_some() && matches!(entry.wire, Wire::Anthropic | Wire::Gemini) {
        warnings.push(format!(
            "--wire chooses between the two wires of OpenAI and has no effect on {}",
            entry.name
        ));
    }
    if let Some(wanted) = config.reasoning
        && way.route.wire().takes_effort()
    {
        warnings.extend(effort_note(&model, wanted));
    }
    let endpoint = Endpoint {
        provider: entry.name.to_string(),
        base_url: way.base_url.clone(),
        api_key: None,
    };
    if let Err(error @ PlanError::BaseUrl { .. }) =
        Plan::new(&endpoint, None, &NetworkSettings::from_environment())
    {
        return Err(AssemblyError::BaseUrl(error));
    }
    Ok(Selected {
        provider: entry.name.to_string(),
        model,
        // A server that has one model of its own has others.
        open_models: uncatalogued || !known,
        credential,
        network: Some(Network { way, ways }),
        warnings,
    })
}

/// What to say of a model that nothing is known about.
pub(crate) fn outside_catalog(model: &str, nearest: &[String]) -> String {
    format!(
        "model {model:?} is not in the catalog, so its context window and price are unknown; \
         models.json can name them{}",
        did_you_mean(nearest)
    )
}

fn model_cache(auth_file: &Path) -> PathBuf {
    auth_file.with_file_name(live_models::CACHE)
}

/// `--base-url`; an empty one is none.
fn given_base_url(config: &Config) -> Option<&str> {
    let given = config.model.base_url.as_deref();
    given.filter(|url| !url.trim().is_empty())
}

/// Whether another provider's model is asked for by mistake. Names with a slash are shared by many
/// hosts and gateways, so they say nothing about whose they are.
fn is_foreign(catalog: &Catalog, model: &str) -> bool {
    !model.contains('/') && catalog.find_anywhere(model).is_some()
}

/// The model that was asked for, or the preferred one where it fits the provider.
fn wanted_model<'a>(
    config: &'a Config,
    catalog: &Catalog,
    providers: &Providers,
    entry: &ProviderEntry,
    warnings: &mut Vec<String>,
) -> Option<&'a str> {
    if let Some(model) = config
        .model
        .model
        .as_deref()
        .filter(|model| !model.is_empty())
    {
        return Some(model);
    }
    let preferred = &config.model.preferred;
    let model = preferred.model.as_deref()?;
    let is_known = catalog.find(&entry.name, model).is_some();
    let fits = match &preferred.provider {
        Some(preferred) => is_same(providers, preferred, entry),
        None => {
            let is_guessed = config.model.provider.is_none() && given_base_url(config).is_none();
            is_guessed || is_known
        }
    };
    // What was chosen there is meant. `--base-url` may be another one each time.
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

/// Whether `name` is a name of `entry`.
fn is_same(providers: &Providers, name: &str, entry: &ProviderEntry) -> bool {
    providers
        .get(name)
        .is_some_and(|named| named.name == entry.name)
}

/// The key of `entry`, or that of the provider whose models it serves under another name.
pub(crate) fn entry_credential(
    entry: &ProviderEntry,
    explicit: Option<&str>,
    auth_file: &Path,
) -> Result<Credential, CredentialError> {
    if entry.key == KeyRequirement::Unused {
        return Err(CredentialError::Missing {
            provider: entry.name.to_string(),
            variables: Vec::new(),
            auth_file: auth_file.to_owned(),
        });
    }
    let variables: Vec<&str> = entry.key_variables.iter().map(AsRef::as_ref).collect();
    let logins = match entry.oauth {
        Some(_) => Logins::Accepted,
        None => Logins::Unsupported,
    };
    let mut own = credential(&entry.name, &variables, explicit, logins, auth_file);
    for alias in &entry.aliases {
        if let Err(CredentialError::Missing { .. }) = own {
            own = credential(alias, &[], None, logins, auth_file).or(own);
        }
    }
    match own {
        Err(CredentialError::Missing { .. }) if entry.catalog != entry.name => {
            let owner = &entry.catalog;
            credential(owner, &[], None, Logins::Unsupported, auth_file).or(own)
        }
        own => own,
    }
}

/// The provider the user named, or the one that fits what else they said.
///
/// The offline stand-in is never among the guesses.
fn provider_name(
    config: &Config,
    catalog: &Catalog,
    providers: &Providers,
    auth_file: &Path,
    warnings: &mut Vec<String>,
) -> Result<String, AssemblyError> {
    if let Some(name) = config
        .model
        .provider
        .as_ref()
        .filter(|name| !name.is_empty())
    {
        return Ok(name.clone());
    }
    if given_base_url(config).is_some() {
        return Ok(provider_of_server(config, catalog, providers, auth_file));
    }
    let preferred = &config.model.preferred;
    let model = match &preferred.provider {
        Some(_) => config.model.model.as_deref(),
        None => config.model.model.as_deref().or(preferred.model.as_deref()),
    };
    let owner = model.and_then(|model| catalog.find_anywhere(model));
    match (&preferred.provider, model, owner) {
        (Some(preferred), None, _) => return Ok(preferred.clone()),
        (Some(preferred), Some(model), owner)
            if owner.is_none() || catalog.find(preferred, model).is_some() =>
        {
            return Ok(preferred.clone());
        }
        (_, _, Some(owner)) => return Ok(owner.provider.to_string()),
        _ => {}
    }
    if let Some(model) = model
        && let Some(owner) = live_models::owner(providers, model, &model_cache(auth_file))
    {
        return Ok(owner);
    }
    if config.model.api_key.is_some() {
        return Ok("anthropic".to_owned());
    }
    // A credential that cannot be used does not stand in the way of another provider's.
    let mut unusable = None;
    for entry in providers.iter() {
        match entry_credential(entry, None, auth_file) {
            Ok(_) => {
                if let Some(error) = unusable {
                    warnings.push(format!("{} is used instead: {error}", entry.name));
                }
                return Ok(entry.name.to_string());
            }
            Err(CredentialError::Missing { .. }) => {}
            Err(error) => {
                unusable.get_or_insert(error);
            }
        }
    }
    Err(match unusable {
        Some(error) => error.into(),
        None => AssemblyError::NoCredential {
            auth_file: auth_file.to_owned(),
        },
    })
}

/// Which provider to take a server for that only `--base-url` names.
///
/// The wire follows from a model that is known, else from `config.json`, else from the key that
/// there is, as in the original zot. Of the built-in providers only those that a wire is named after
/// are taken: the keys of others are not sent to a server that has nothing to do with them.
fn provider_of_server(
    config: &Config,
    catalog: &Catalog,
    providers: &Providers,
    auth_file: &Path,
) -> String {
    let owner = config
        .model
        .model
        .as_deref()
        .and_then(|model| catalog.find_anywhere(model))
        .and_then(|model| providers.get(&model.provider));
    if let Some(owner) = owner {
        let name = match (zot_provider::provider(&owner.name), owner.wire) {
            (None, _) => &owner.name,
            (Some(_), Wire::Anthropic) => "anthropic",
            (Some(_), Wire::Gemini) => "gemini",
            (Some(_), Wire::OpenAiChat(_) | Wire::OpenAiResponses) => "openai",
        };
        return name.to_owned();
    }
    if let Some(preferred) = &config.model.preferred.provider {
        return preferred.clone();
    }
    let has_key = |name: &&str| {
        let entry = providers.get(name);
        entry.is_some_and(|entry| entry_credential(entry, None, auth_file).is_ok())
    };
    let found = ["anthropic", "openai"].into_iter().find(has_key);
    found.unwrap_or("openai").to_owned()
}

fn offline(config: &Config, catalog: &Catalog) -> Result<Selected, AssemblyError> {
    let preferred = config.model.preferred.model.as_deref();
    let wanted = config
        .model
        .model
        .as_deref()
        .or(
            preferred.filter(|model| match &config.model.preferred.provider {
                Some(provider) => provider == OFFLINE,
                None => catalog.find(OFFLINE, model).is_some(),
            }),
        )
        .unwrap_or(OFFLINE);
    let model = find_model(catalog, OFFLINE, wanted, false)
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

/// The model called `id`; one that the catalog does not know only where `open_models` allows it.
pub(crate) fn find_model(
    catalog: &Catalog,
    provider: &str,
    id: &str,
    open_models: bool,
) -> Option<ModelInfo> {
    match catalog.find(provider, id) {
        Some(model) => Some(model.clone()),
        None if open_models && !id.is_empty() => Some(ModelInfo::unknown(provider, id)),
        None => None,
    }
}

pub(crate) fn nearest(catalog: &Catalog, provider: &str, id: &str) -> Vec<String> {
    catalog
        .nearest(provider, id)
        .into_iter()
        .map(ToOwned::to_owned)
        .collect()
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

/// Besides `providers`, those that are built in are known where they make sense.
pub(crate) fn unknown_provider(
    name: String,
    providers: &Providers,
    built_in: &[&str],
) -> AssemblyError {
    let known: Vec<String> = providers
        .iter()
        .map(|entry| entry.name.as_ref())
        .chain(built_in.iter().copied())
        .map(ToOwned::to_owned)
        .collect();
    AssemblyError::UnknownProvider {
        nearest: nearest_names(&name, known.iter().map(String::as_str))
            .into_iter()
            .map(ToOwned::to_owned)
            .collect(),
        name,
        known,
    }
}
