//! The models of all providers.

use crate::credentials::Credentials;

pub use zot_provider::catalog::{Catalog, Deprecation, Efforts, ModelInfo, Thinking, today};

/// The models that can be chosen.
#[derive(Debug, Clone)]
pub struct ModelList {
    /// The models, by provider.
    pub models: Vec<ModelInfo>,
    /// The date of the built-in prices.
    pub snapshot: String,
}

/// There are no models to list.
#[derive(Debug, thiserror::Error)]
#[error(
    "no models are listed for provider {provider:?}; servers such as ollama accept any model they have"
)]
pub struct NoModels {
    /// The provider that was requested.
    pub provider: String,
}

/// Returns the models of `provider`, or of all: the built-in ones, those of the user's `models.json`,
/// and those the providers listed when [`Credentials::refresh_models`] last asked them.
pub fn list(credentials: &Credentials, provider: Option<&str>) -> Result<ModelList, NoModels> {
    let mut catalog = credentials.catalog().clone();
    credentials.add_live_models(&mut catalog);
    let only = provider.map(|name| credentials.canonical(name));
    let models: Vec<ModelInfo> = catalog
        .all()
        .filter(|model| only.is_none_or(|provider| model.provider == provider))
        .cloned()
        .collect();
    match models.is_empty() {
        true => Err(NoModels {
            provider: provider.unwrap_or_default().to_owned(),
        }),
        false => Ok(ModelList {
            models,
            snapshot: catalog.snapshot().to_owned(),
        }),
    }
}
