//! The models that take over when another fails.

use std::path::Path;
use std::sync::Arc;

use zot_agent::Fallback;
use zot_auth::AuthFile;
use zot_provider::catalog::Catalog;
use zot_provider::{HttpClient, Providers};

use super::connecting::Connection;
use super::selection::select;
use super::{AssemblyError, Clients};
use crate::config::{Config, PreferredModel};

/// Chooses each as if it alone had been asked for, before anything is started.
pub(super) fn fallbacks(
    config: &Config,
    catalog: &Catalog,
    providers: &Providers,
    auth_file: &Path,
    http: &HttpClient,
    warnings: &mut Vec<String>,
) -> Result<Arc<[Fallback]>, AssemblyError> {
    if config.fallback.is_empty() {
        return Ok(Arc::default());
    }
    if config.record.is_some() || config.replay.is_some() {
        return Err(AssemblyError::RecordedFallback);
    }
    let mut fallbacks = Vec::with_capacity(config.fallback.len());
    for wanted in &config.fallback {
        let (provider, model) = match wanted.split_once('/') {
            Some((provider, model)) => (provider, Some(model.to_owned())),
            None => (wanted.as_str(), None),
        };
        let alone = Config {
            provider: Some(provider.to_owned()),
            model,
            // The user's habits and address are about the first.
            preferred: PreferredModel::default(),
            base_url: None,
            api_key: None,
            ..config.clone()
        };
        let selected = select(&alone, &mut catalog.clone(), providers, auth_file)?;
        warnings.extend(selected.warnings);
        let (native, _) = Connection {
            provider: &selected.provider,
            base_url: selected.base_url,
            credential: selected.credential,
            wire: selected.wire,
            oauth: selected.oauth,
            auth_file: AuthFile::new(auth_file.to_owned()),
            http: http.clone(),
        }
        .client();
        let model = selected.model;
        fallbacks.push(Fallback {
            model: Clients::new(native, None).speaking_to(&model),
            provider: selected.provider,
            model_id: model.id.to_string(),
            prices: model.prices,
            context_window: model.context_window,
            max_output: model.max_output,
        });
    }
    Ok(fallbacks.into())
}
