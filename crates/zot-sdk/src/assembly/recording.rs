//! Cassettes: replaying one, and recording one.

use std::borrow::Cow;
use std::env;
use std::path::Path;
use std::sync::Arc;

use zot_auth::Credential;
use zot_cassette::{Header, RecordedModel, Recorder, RecordingModel, Redactor, ReplayModel};
use zot_conversation::Model;
use zot_provider::catalog::{Catalog, ModelInfo};

use super::AssemblyError;
use super::chosen::Chosen;
use super::fallback::Substitute;
use super::selection::Selected;
use super::selection::model::{Names, find_model};
use crate::config::{Config, Replay};

/// The provider name of a replay.
pub(super) const REPLAY: &str = "replay";

/// Returns the cassette to replay, if one was asked for.
pub(super) fn cassette(config: &Config) -> Result<Option<&Replay>, AssemblyError> {
    match (config.model.provider.as_deref(), &config.recording.replay) {
        (Some(REPLAY), None) => Err(AssemblyError::NoCassette),
        (Some(provider), Some(_)) if provider != REPLAY => Err(AssemblyError::CassetteUnused {
            provider: provider.to_owned(),
        }),
        (_, replay) => Ok(replay.as_ref()),
    }
}

/// Opens the cassette. Its provider's models are added to `catalog` as those of `replay`, so that
/// switching between them works and costs as recorded.
pub(super) fn select(
    config: &Config,
    replay: &Replay,
    catalog: &mut Catalog,
) -> Result<(Selected, Arc<ReplayModel>), AssemblyError> {
    let player = ReplayModel::open(&replay.cassette, replay.mode, replay.pace)?;
    let header = player.header();
    let shared: Vec<ModelInfo> = catalog.models(&header.provider).cloned().collect();
    // As at the time of recording: a server with one uncatalogued model may have others.
    let open_models = catalog.find(&header.provider, &header.model).is_none();
    for model in shared
        .into_iter()
        .chain([model_info(header.recorded_model())])
    {
        catalog.put(ModelInfo {
            provider: Cow::Borrowed(REPLAY),
            base_url: None,
            ..model
        });
    }
    let wanted = config.model.model.as_deref().unwrap_or(&header.model);
    let model = find_model(catalog, REPLAY, wanted, Names::Any)
        .unwrap_or_else(|| ModelInfo::unknown(REPLAY, wanted));
    let selected = Selected {
        provider: REPLAY.to_owned(),
        model,
        open_models,
        network: None,
        credential: None,
        warnings: Vec::new(),
    };
    Ok((selected, Arc::new(player)))
}

/// Creates a cassette for `client` and its substitutes. A recording of a replay names the provider
/// that was recorded first.
pub(super) fn record(
    client: &dyn Model,
    path: &Path,
    chosen: &Chosen,
    substitutes: &mut [Substitute],
    secrets: &[String],
) -> Result<Arc<Recorder>, AssemblyError> {
    let model = &chosen.selected.model;
    let provider = match &chosen.replay {
        Some(replay) => replay.header().provider.as_str(),
        None => &model.provider,
    };
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let credentials = substitutes.iter().map(|other| &other.credential);
    let credentials = std::iter::once(&chosen.selected.credential)
        .chain(credentials)
        .flatten();
    let credentials = credentials.map(Credential::secret);
    let known = secrets.iter().map(String::as_str);
    let redactor = Redactor::new(credentials.chain(known), environment);
    let mut header = Header::new(&recorded_model(provider, model, client));
    for other in &*substitutes {
        let recorded = recorded_model(&other.provider, &other.model, &*other.client);
        header.add_fallback(&recorded);
    }
    let recorder = Arc::new(Recorder::create(path, &header, redactor)?);
    for other in substitutes {
        let client = Arc::clone(&other.client);
        let recorder = Arc::clone(&recorder);
        other.client = Arc::new(RecordingModel::fallback(client, recorder, &other.provider));
    }
    Ok(recorder)
}

fn recorded_model(provider: &str, model: &ModelInfo, client: &dyn Model) -> RecordedModel {
    RecordedModel {
        provider: provider.to_owned(),
        id: model.id.to_string(),
        reasoning: model.reasoning,
        context_window: model.context_window,
        max_output: model.max_output,
        prices: model.prices.clone(),
        tool_images: client.tool_images(),
    }
}

/// Returns a recorded model in the form of the catalog.
pub(super) fn model_info(recorded: RecordedModel) -> ModelInfo {
    let mut info = ModelInfo::unknown(&recorded.provider, &recorded.id);
    info.reasoning = recorded.reasoning;
    info.context_window = recorded.context_window;
    if recorded.max_output > 0 {
        info.max_output = recorded.max_output;
    }
    info.prices = recorded.prices;
    info
}
