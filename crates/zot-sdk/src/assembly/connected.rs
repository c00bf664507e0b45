//! The last stage: clients for the models, and the file that their responses are recorded to.

use std::path::Path;
use std::sync::Arc;

use zot_agent::ConnectedModel;
use zot_conversation::{Model, Prices};
use zot_offline::OfflineModel;
use zot_provider::HttpClient;

use super::chosen::Chosen;
use super::clients::{Clients, Reached, Source};
use super::fallback::{self, Substitute};
use super::selection::Network;
use super::{AssemblyError, OFFLINE, recording, variable};
use crate::config::Config;
use crate::known_secrets::known_secrets;
use crate::live_models::{self, LiveModels};

/// Clients for the models. No provider has been contacted; a requested recording has been created.
pub(crate) struct Connected {
    pub(crate) clients: Clients,
    pub(crate) model: ConnectedModel,
    pub(crate) fallbacks: Arc<[ConnectedModel]>,
    pub(crate) live_models: Option<LiveModels>,
    pub(crate) warnings: Vec<String>,
}

impl Connected {
    pub(crate) fn connect(
        config: &Config,
        home: &Path,
        chosen: &Chosen,
    ) -> Result<Self, AssemblyError> {
        let mut warnings = Vec::new();
        warnings.extend(unlimited_cost(config, chosen));
        let http = config.http.clone().unwrap_or_default();
        let (source, live_models) = source(config, home, chosen, &http);
        // The stand-in supports native calls only.
        let dialect = config.tools.dialect;
        let dialect = dialect.filter(|_| chosen.selected.provider != OFFLINE);
        let mut clients = Clients::new(source, dialect);
        let mut fallbacks = match &chosen.replay {
            Some(replay) => fallback::recorded(config, replay, &chosen.catalog, &mut warnings),
            None => fallback::chosen(config, chosen, &http, &mut warnings)?,
        };
        // Last, because it leaves a file behind.
        if let Some(path) = &config.recording.record {
            record(config, home, chosen, path, &mut clients, &mut fallbacks)?;
        }
        let provider = chosen.reported_provider().to_owned();
        Ok(Self {
            model: clients.connect(&chosen.selected.model, provider),
            fallbacks: fallbacks.into_iter().map(Into::into).collect(),
            clients,
            live_models,
            warnings,
        })
    }
}

/// Returns the sources of clients and of the provider's list of models.
fn source(
    config: &Config,
    home: &Path,
    chosen: &Chosen,
    http: &HttpClient,
) -> (Source, Option<LiveModels>) {
    if let Some(replay) = &chosen.replay {
        return (Source::Only(Arc::clone(replay) as Arc<dyn Model>), None);
    }
    let selected = &chosen.selected;
    let Some(Network { way, ways }) = &selected.network else {
        return (Source::Only(Arc::new(OfflineModel)), None);
    };
    let credential = selected.credential.as_ref();
    let connection = ways.connection(credential, &chosen.auth_file, http, &chosen.catalog);
    // Another server than the provider's has other models.
    let lists_models = config.model.base_url.is_none() && selected.model.base_url.is_none();
    let live_models = lists_models.then(|| LiveModels {
        http: http.clone(),
        wire: ways.entry.wire,
        endpoint: connection.endpoint(&way.base_url),
        cache: home.join(live_models::CACHE),
        refresh: config.model.live_models,
    });
    let reached = Reached {
        connection,
        ways: ways.clone(),
        first: (selected.model.id.to_string(), way.clone()),
    };
    (Source::Network(Box::new(reached)), live_models)
}

fn record(
    config: &Config,
    home: &Path,
    chosen: &Chosen,
    path: &Path,
    clients: &mut Clients,
    fallbacks: &mut [Substitute],
) -> Result<(), AssemblyError> {
    let native = clients.native(&chosen.selected.model);
    let mut secrets = known_secrets(home, &chosen.providers, &variable);
    let given = config.model.api_key.iter();
    secrets.extend(given.chain(&config.recording.secrets).cloned());
    let recorder = recording::record(&*native, path, chosen, fallbacks, &secrets)?;
    clients.record_to(recorder);
    Ok(())
}

/// Returns a warning about a cost budget that cannot be reached.
fn unlimited_cost(config: &Config, chosen: &Chosen) -> Option<String> {
    let model = &chosen.selected.model;
    let is_unlimited = config.budget.max_cost_usd.is_some()
        && chosen.selected.network.is_some()
        && model.prices == Prices::default();
    is_unlimited.then(|| {
        format!(
            "no price is known for {:?}, so the cost budget will never be reached: limit tokens or \
             time, or give prices in models.json",
            model.id
        )
    })
}
