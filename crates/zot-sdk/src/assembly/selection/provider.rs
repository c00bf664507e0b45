//! Selects a provider.

use zot_auth::CredentialError;
use zot_provider::catalog::Catalog;
use zot_provider::{ProviderEntry, Wire};

use super::Selector;
use super::credential::{entry_credential, unknown_provider};
use crate::assembly::recording::REPLAY;
use crate::assembly::{AssemblyError, OFFLINE};
use crate::live_models;

impl<'a> Selector<'a> {
    /// Returns the named provider, or the one that fits the other settings; never the offline stand-in.
    pub(super) fn provider_name(
        &self,
        catalog: &Catalog,
        warnings: &mut Vec<String>,
    ) -> Result<String, AssemblyError> {
        let wanted = self.wanted;
        if let Some(name) = wanted.provider.as_ref().filter(|name| !name.is_empty()) {
            return Ok(name.clone());
        }
        if self.given_base_url().is_some() {
            return Ok(self.provider_of_server(catalog));
        }
        let preferred = &wanted.preferred;
        let model = match &preferred.provider {
            Some(_) => wanted.model.as_deref(),
            None => wanted.model.as_deref().or(preferred.model.as_deref()),
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
            && let Some(owner) = live_models::owner(self.providers, model, &self.model_cache())
        {
            return Ok(owner);
        }
        if wanted.api_key.is_some() {
            return Ok("anthropic".to_owned());
        }
        self.first_with_credential(warnings)
    }

    /// Returns the first provider with a usable credential. An unusable one is only a warning then.
    fn first_with_credential(&self, warnings: &mut Vec<String>) -> Result<String, AssemblyError> {
        let mut unusable = None;
        for entry in self.providers.iter() {
            match entry_credential(entry, None, self.auth_file) {
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
                auth_file: self.auth_file.to_owned(),
            },
        })
    }

    /// Returns the provider to use for a server that is only known by `--base-url`.
    ///
    /// The wire follows from a known model, else from `config.json`, else from the available key, as in
    /// the original zot. Among the built-in providers only those with a wire of their name are
    /// considered: keys of others must not be sent to an unrelated server.
    fn provider_of_server(&self, catalog: &Catalog) -> String {
        let model = self.wanted.model.as_deref();
        let owner = model
            .and_then(|model| catalog.find_anywhere(model))
            .and_then(|model| self.providers.get(&model.provider));
        if let Some(owner) = owner {
            let name = match (zot_provider::provider(&owner.name), owner.wire) {
                (None, _) => &owner.name,
                (Some(_), Wire::Anthropic) => "anthropic",
                (Some(_), Wire::Gemini) => "gemini",
                (Some(_), Wire::OpenAiChat(_) | Wire::OpenAiResponses) => "openai",
            };
            return name.to_owned();
        }
        if let Some(preferred) = &self.wanted.preferred.provider {
            return preferred.clone();
        }
        let has_key = |name: &&str| {
            let entry = self.providers.get(name);
            entry.is_some_and(|entry| entry_credential(entry, None, self.auth_file).is_ok())
        };
        let found = ["anthropic", "openai"].into_iter().find(has_key);
        found.unwrap_or("openai").to_owned()
    }

    pub(super) fn entry(&self, name: String) -> Result<&'a ProviderEntry, AssemblyError> {
        if let Some(problem) = self.providers.problem_of(&name) {
            return Err(problem.clone().into());
        }
        match self.providers.get(&name) {
            Some(entry) => Ok(entry),
            None => Err(unknown_provider(name, self.providers, &[OFFLINE, REPLAY])),
        }
    }
}
