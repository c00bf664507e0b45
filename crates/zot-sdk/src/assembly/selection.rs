//! Chooses provider, model and credential from what the user said and what there is.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_auth::{Credential, CredentialError, Logins};
use zot_provider::catalog::{Catalog, ModelInfo, nearest_names};
use zot_provider::network::{NetworkSettings, Plan, PlanError};
use zot_provider::{Endpoint, KeyRequirement, OAuthEntry, ProviderEntry, Providers, Wire};

use super::recording::REPLAY;
use super::{AssemblyError, OFFLINE, credential};
use crate::config::Config;
use crate::live_models;

/// What to talk to.
pub(crate) struct Selected {
    pub(crate) provider: String,
    pub(crate) model: ModelInfo,
    /// Whether another model outside the catalog may be switched to.
    pub(crate) open_models: bool,
    pub(crate) base_url: String,
    pub(crate) credential: Option<Credential>,
    /// `None` for what needs no network: the offline stand-in and a replay.
    pub(crate) wire: Option<Wire>,
    /// How a login is renewed.
    pub(crate) oauth: Option<Arc<OAuthEntry>>,
    pub(crate) warnings: Vec<String>,
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
    let Some(entry) = providers.get(&name).or_else(|| renamed(&name, providers)) else {
        return Err(unknown_provider(name, providers, &[OFFLINE, REPLAY]));
    };
    if entry.catalog != entry.name {
        catalog.share(&entry.catalog, &entry.name);
    }
    let uncatalogued = !catalog.covers(&entry.catalog);
    let wanted = wanted_model(config, catalog, &entry.name, &name).unwrap_or(&entry.default_model);
    let catalogued = catalog.find(&entry.name, wanted).is_some();
    if config.base_url.is_none() {
        live_models::look_up(catalog, entry, wanted, &model_cache(auth_file));
    }
    let catalog = &*catalog;
    let any_model = uncatalogued || config.base_url.is_some();
    let model = find_model(catalog, &entry.name, wanted, any_model)
        .ok_or_else(|| unknown_model(catalog, &entry.name, wanted))?;
    let known = catalog.find(&entry.name, wanted).is_some();
    if !catalogued {
        warnings.push(format!(
            "model {wanted:?} is not in the catalog, so its context window and price are unknown; \
             models.json can name them"
        ));
    }
    let found = entry_credential(entry, config.api_key.as_deref(), auth_file);
    let credential = match found {
        Ok(credential) => Some(credential),
        // A server of one's own often wants no key.
        Err(CredentialError::Missing { .. })
            if entry.key == KeyRequirement::Optional || config.base_url.is_some() =>
        {
            None
        }
        Err(error) => return Err(error.into()),
    };
    let base_url = config
        .base_url
        .clone()
        .or_else(|| model.base_url.clone())
        .unwrap_or_else(|| entry.base_url.to_string());
    let endpoint = Endpoint {
        provider: entry.name.to_string(),
        base_url: base_url.clone(),
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
        base_url,
        credential,
        wire: Some(entry.wire),
        oauth: entry.oauth.clone(),
        warnings,
    })
}

/// A provider that the original calls `name`, as its settings and sessions do.
fn renamed<'a>(name: &str, providers: &'a Providers) -> Option<&'a ProviderEntry> {
    match name {
        "google" => providers.get("gemini"),
        "moonshotai" => providers.get("kimi"),
        _ => None,
    }
}

fn model_cache(auth_file: &Path) -> PathBuf {
    auth_file.with_file_name(live_models::CACHE)
}

/// The model that was asked for, or the preferred one where it fits `provider`, which was chosen as
/// `name`.
fn wanted_model<'a>(
    config: &'a Config,
    catalog: &Catalog,
    provider: &str,
    name: &str,
) -> Option<&'a str> {
    if config.model.is_some() {
        return config.model.as_deref();
    }
    let preferred = &config.preferred;
    let fits = |model: &&str| match &preferred.provider {
        Some(preferred) => preferred == provider || preferred == name,
        None => {
            let is_guessed = config.provider.is_none() && config.base_url.is_none();
            is_guessed || catalog.find(provider, model).is_some()
        }
    };
    preferred.model.as_deref().filter(fits)
}

/// The key of `entry`, or that of the provider whose models it serves under another name.
pub(crate) fn entry_credential(
    entry: &ProviderEntry,
    explicit: Option<&str>,
    auth_file: &Path,
) -> Result<Credential, CredentialError> {
    let variables: Vec<&str> = entry.key_variables.iter().map(AsRef::as_ref).collect();
    let logins = match entry.oauth {
        Some(_) => Logins::Accepted,
        None => Logins::Unsupported,
    };
    let own = credential(&entry.name, &variables, explicit, logins, auth_file);
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
    if let Some(name) = &config.provider {
        return Ok(name.clone());
    }
    if config.base_url.is_some() {
        return Ok("openai".to_owned());
    }
    let preferred = &config.preferred;
    let model = match &preferred.provider {
        Some(_) => config.model.as_deref(),
        None => config.model.as_deref().or(preferred.model.as_deref()),
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
    if config.api_key.is_some() {
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

fn offline(config: &Config, catalog: &Catalog) -> Result<Selected, AssemblyError> {
    let wanted = wanted_model(config, catalog, OFFLINE, OFFLINE).unwrap_or(OFFLINE);
    let model = find_model(catalog, OFFLINE, wanted, false)
        .ok_or_else(|| unknown_model(catalog, OFFLINE, wanted))?;
    Ok(Selected {
        provider: OFFLINE.to_owned(),
        model,
        open_models: false,
        base_url: String::new(),
        credential: None,
        wire: None,
        oauth: None,
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
