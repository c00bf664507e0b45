//! Finds the credential of a provider.

use std::path::Path;

use zot_auth::{Credential, CredentialError, CredentialRequest, Logins};
use zot_provider::catalog::{ModelInfo, nearest_names};
use zot_provider::{KeyRequirement, ProviderEntry, Providers};

use super::Selector;
use crate::assembly::{AssemblyError, variable};

impl Selector<'_> {
    pub(super) fn credential(
        &self,
        entry: &ProviderEntry,
        model: &ModelInfo,
    ) -> Result<Option<Credential>, AssemblyError> {
        match entry_credential(entry, self.wanted.api_key.as_deref(), self.auth_file) {
            Ok(credential) => Ok(Some(credential)),
            // A server that the user runs often needs no key.
            Err(CredentialError::Missing { .. })
                if entry.key != KeyRequirement::Needed
                    || self.given_base_url().is_some()
                    || model.own_server =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Finds the credential of `entry`, or of the provider whose models it serves under another name.
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
    let mut own = find(&entry.name, &variables, explicit, logins, auth_file);
    for alias in &entry.aliases {
        if let Err(CredentialError::Missing { .. }) = own {
            own = find(alias, &[], None, logins, auth_file).or(own);
        }
    }
    match own {
        Err(CredentialError::Missing { .. }) if entry.catalog != entry.name => {
            let owner = &entry.catalog;
            find(owner, &[], None, Logins::Unsupported, auth_file).or(own)
        }
        own => own,
    }
}

fn find(
    provider: &str,
    variables: &[&str],
    explicit: Option<&str>,
    logins: Logins,
    auth_file: &Path,
) -> Result<Credential, CredentialError> {
    zot_auth::find(CredentialRequest {
        provider,
        explicit,
        variables,
        auth_file,
        logins,
        env: &variable,
    })
}

/// Returns the error for a provider that is neither one of `providers` nor `built_in`.
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
