//! The clients of a runtime: one for each base URL and wire of its models.

use std::sync::{Arc, Mutex, PoisonError};

use zot_agent::ConnectedModel;
use zot_cassette::{Recorder, RecordingModel};
use zot_conversation::Model;
use zot_hermes::HermesModel;
use zot_provider::catalog::{ModelInfo, OpenAiWire, ToolDialect};
use zot_provider::{KeyRequirement, ProviderEntry, Route};

use super::connecting::Connection;

/// The base URL and the wire of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Way {
    pub(crate) route: Route,
    pub(crate) base_url: String,
}

/// Finds the base URL and the wire of each model of a provider.
#[derive(Debug, Clone)]
pub(crate) struct Ways {
    pub(crate) entry: ProviderEntry,
    /// `--wire`.
    pub(crate) forced: Option<OpenAiWire>,
    /// `--base-url`.
    pub(crate) given_url: Option<String>,
}

impl Ways {
    pub(crate) fn to(&self, model: &ModelInfo) -> Way {
        let base_url = self.given_url.as_deref().or(model.base_url.as_deref());
        let base_url = base_url.unwrap_or(&self.entry.base_url);
        Way {
            route: self.entry.route(model, self.forced).to(base_url),
            base_url: base_url.to_owned(),
        }
    }
}

/// Returns whether `base_url` is a server that the user runs, whose models no catalog can list.
pub(super) fn is_own_server(entry: &ProviderEntry, base_url: &str) -> bool {
    let known = zot_provider::provider(&entry.name);
    let is_elsewhere = known.is_none_or(|known| known.base_url != base_url);
    // A server that needs no key runs on the user's machine.
    is_elsewhere || entry.key != KeyRequirement::Needed
}

/// Where clients come from.
pub(super) enum Source {
    /// One client for all models: the stand-in or a replay.
    Only(Arc<dyn Model>),
    Network(Box<Reached>),
}

/// The models of a provider.
pub(super) struct Reached {
    pub(super) connection: Connection,
    pub(super) ways: Ways,
    /// The first model and how it is reached.
    pub(super) first: (String, Way),
}

/// Creates clients and keeps them, because they cache what they have serialised.
pub(crate) struct Clients {
    source: Source,
    recorder: Option<Arc<Recorder>>,
    /// Overrides the catalog.
    forced: Option<ToolDialect>,
    /// One for each base URL and wire; there are few.
    made: Mutex<Vec<(Option<Way>, Client)>>,
}

/// A client, and its wrapper for models that call tools in their text.
struct Client {
    native: Arc<dyn Model>,
    hermes: Arc<dyn Model>,
}

impl Clients {
    pub(super) fn new(source: Source, forced: Option<ToolDialect>) -> Self {
        Self {
            source,
            recorder: None,
            forced,
            made: Mutex::default(),
        }
    }

    /// Records all model calls from now on.
    pub(super) fn record_to(&mut self, recorder: Arc<Recorder>) {
        self.recorder = Some(recorder);
        self.made = Mutex::default();
    }

    /// Returns the client for `model` without a recording around it.
    pub(super) fn native(&self, model: &ModelInfo) -> Arc<dyn Model> {
        self.made_for(model, |client| Arc::clone(&client.native))
    }

    /// Returns `model` with its client; errors name `provider`.
    pub(crate) fn connect(&self, model: &ModelInfo, provider: String) -> ConnectedModel {
        ConnectedModel {
            client: self.client_for(model),
            provider,
            id: model.id.to_string(),
            prices: model.prices.clone(),
            context_window: model.context_window,
            max_output: model.max_output,
        }
    }

    fn client_for(&self, model: &ModelInfo) -> Arc<dyn Model> {
        let dialect = self.forced.unwrap_or(model.tool_dialect);
        self.made_for(model, |client| match dialect {
            ToolDialect::Native => Arc::clone(&client.native),
            ToolDialect::Hermes => Arc::clone(&client.hermes),
        })
    }

    fn made_for(
        &self,
        model: &ModelInfo,
        choose: impl FnOnce(&Client) -> Arc<dyn Model>,
    ) -> Arc<dyn Model> {
        let way = self.way(model);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = made.iter().find(|(known, _)| *known == way) {
            return choose(client);
        }
        let native = match &self.source {
            Source::Only(client) => Arc::clone(client),
            Source::Network(reached) => {
                let way = way.as_ref().unwrap_or(&reached.first.1);
                reached.connection.client(way)
            }
        };
        let native = match &self.recorder {
            Some(recorder) => Arc::new(RecordingModel::new(native, Arc::clone(recorder))),
            None => native,
        };
        let client = Client {
            hermes: Arc::new(HermesModel::new(Arc::clone(&native))),
            native,
        };
        let chosen = choose(&client);
        made.push((way, client));
        chosen
    }

    /// Returns whether the models are on a server that the user runs.
    pub(crate) fn reach_own_server(&self) -> bool {
        match &self.source {
            Source::Only(_) => false,
            Source::Network(reached) => {
                is_own_server(&reached.ways.entry, &reached.first.1.base_url)
            }
        }
    }

    fn way(&self, model: &ModelInfo) -> Option<Way> {
        match &self.source {
            Source::Only(_) => None,
            Source::Network(reached) if reached.first.0 == model.id => {
                Some(reached.first.1.clone())
            }
            Source::Network(reached) => Some(reached.ways.to(model)),
        }
    }
}
