//! The first stage: which provider, model and credential are used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zot_cassette::ReplayModel;
use zot_provider::Providers;
use zot_provider::catalog::Catalog;

use super::AssemblyError;
use super::recording;
use super::selection::{Selected, Selector};
use crate::config::{Config, ModelChoice};
use crate::tables::Tables;

/// What a runtime will use. Nothing has been started, contacted or written; a cassette that is to be
/// replayed has been read.
pub(crate) struct Chosen {
    pub(crate) catalog: Catalog,
    pub(crate) providers: Providers,
    pub(crate) auth_file: PathBuf,
    pub(crate) selected: Selected,
    /// Replaces the provider.
    pub(crate) replay: Option<Arc<ReplayModel>>,
    /// Concern the user's tables and the model of a resumed session; `selected` has its own.
    pub(crate) warnings: Vec<String>,
}

/// The provider and model that a session used last.
#[derive(Clone, Copy)]
pub(crate) struct SessionModel<'a> {
    pub(crate) provider: &'a str,
    pub(crate) model: &'a str,
}

impl Chosen {
    /// Chooses what `config` names, or else what the resumed session used.
    pub(crate) fn choose(
        config: &Config,
        home: &Path,
        tables: Tables,
        resumed: Option<SessionModel<'_>>,
    ) -> Result<Self, AssemblyError> {
        let Tables {
            mut catalog,
            providers,
            problems: mut warnings,
        } = tables;
        let auth_file = home.join("auth.json");
        let (selected, replay) = match recording::cassette(config)? {
            Some(replay) => {
                let (selected, player) = recording::select(config, replay, &mut catalog)?;
                (selected, Some(player))
            }
            None => {
                let selector = Selector {
                    wanted: &config.model,
                    reasoning: config.reasoning,
                    providers: &providers,
                    auth_file: &auth_file,
                };
                let selected = match resumed.filter(|_| !config.model.is_explicit()) {
                    None => selector.select(&mut catalog)?,
                    Some(before) => select_resumed(&selector, before, &mut catalog, &mut warnings)?,
                };
                (selected, None)
            }
        };
        Ok(Self {
            catalog,
            providers,
            auth_file,
            selected,
            replay,
            warnings,
        })
    }

    /// Returns the provider that errors name; for a replay, the recorded one.
    pub(crate) fn reported_provider(&self) -> &str {
        match &self.replay {
            Some(replay) => &replay.header().provider,
            None => &self.selected.provider,
        }
    }
}

/// Selects the model of a resumed session, or another if it cannot be used any more.
fn select_resumed(
    selector: &Selector<'_>,
    SessionModel { provider, model }: SessionModel<'_>,
    catalog: &mut Catalog,
    warnings: &mut Vec<String>,
) -> Result<Selected, AssemblyError> {
    let as_before = ModelChoice {
        provider: Some(provider.to_owned()),
        model: Some(model.to_owned()),
        ..selector.wanted.clone()
    };
    let before = Selector {
        wanted: &as_before,
        ..*selector
    };
    match before.select(catalog) {
        Ok(selected) => Ok(selected),
        Err(error) => {
            let selected = selector.select(catalog)?;
            warnings.push(format!(
                "the session used {model:?} of {provider}, which is not available now: {error}"
            ));
            Ok(selected)
        }
    }
}
