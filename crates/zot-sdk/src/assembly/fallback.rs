//! The models that take over when another fails.

use std::sync::Arc;

use zot_agent::ConnectedModel;
use zot_auth::Credential;
use zot_cassette::ReplayModel;
use zot_conversation::Model;
use zot_offline::OfflineModel;
use zot_provider::HttpClient;
use zot_provider::catalog::{Catalog, ModelInfo};

use super::AssemblyError;
use super::chosen::Chosen;
use super::clients::{Clients, Source};
use super::recording::model_info;
use super::selection::{Network, Selector};
use crate::config::{Config, ModelChoice};

/// A fallback, before it is wrapped for recording.
pub(super) struct Substitute {
    pub(super) provider: String,
    pub(super) model: ModelInfo,
    pub(super) client: Arc<dyn Model>,
    pub(super) credential: Option<Credential>,
}

impl From<Substitute> for ConnectedModel {
    fn from(chosen: Substitute) -> Self {
        let clients = Clients::new(Source::Only(chosen.client), None);
        clients.connect(&chosen.model, chosen.provider)
    }
}

/// Returns the fallbacks of a recording, which a replay repeats.
pub(super) fn recorded(
    config: &Config,
    replay: &Arc<ReplayModel>,
    catalog: &Catalog,
    warnings: &mut Vec<String>,
) -> Vec<Substitute> {
    if !config.model.fallback.is_empty() {
        warnings.push(
            "a replay uses the fallbacks of its recording: the configured fallback is ignored"
                .to_owned(),
        );
    }
    let recorded = replay.fallbacks().into_iter();
    recorded
        .map(|(recorded, client)| {
            let mut model = model_info(recorded);
            if let Some(known) = catalog.find(&model.provider, &model.id) {
                model.tool_dialect = known.tool_dialect;
            }
            Substitute {
                provider: model.provider.to_string(),
                model,
                client,
                credential: None,
            }
        })
        .collect()
}

/// Selects each fallback as if it were the only model asked for.
pub(super) fn chosen(
    config: &Config,
    first: &Chosen,
    http: &HttpClient,
    warnings: &mut Vec<String>,
) -> Result<Vec<Substitute>, AssemblyError> {
    let auth_file = &first.auth_file;
    let mut chosen = Vec::with_capacity(config.model.fallback.len());
    for wanted in &config.model.fallback {
        let (provider, model) = match wanted.split_once('/') {
            Some((provider, model)) => (provider, Some(model.to_owned())),
            None => (wanted.as_str(), None),
        };
        // The user's preference, base URL and key apply to the first model only.
        let choice = ModelChoice {
            model,
            ..ModelChoice::provider(provider)
        };
        let selector = Selector {
            wanted: &choice,
            reasoning: config.reasoning,
            providers: &first.providers,
            auth_file,
        };
        let mut catalog = first.catalog.clone();
        let selected = selector.select(&mut catalog)?;
        warnings.extend(selected.warnings.iter().cloned());
        let credential = selected.credential.clone();
        let client: Arc<dyn Model> = match &selected.network {
            None => Arc::new(OfflineModel),
            Some(Network { way, ways }) => ways
                .connection(credential.as_ref(), auth_file, http, &catalog)
                .client(way),
        };
        chosen.push(Substitute {
            provider: selected.provider,
            model: selected.model,
            client,
            credential,
        });
    }
    Ok(chosen)
}
