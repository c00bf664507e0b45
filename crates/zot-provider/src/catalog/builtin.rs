//! The snapshot that is compiled in.
//!
//! Every text is borrowed from the program itself; reading all of it must stay within the start-up
//! budget of 100 µs.

use std::borrow::Cow;

use serde::Deserialize;
use zot_conversation::Prices;

use super::{Catalog, ModelInfo, ToolDialect};

pub(super) const MODELS_JSON: &str = include_str!("models.json");

#[derive(Deserialize)]
struct Snapshot<'a> {
    snapshot: &'a str,
    #[serde(borrow)]
    providers: Vec<Provider<'a>>,
}

#[derive(Deserialize)]
struct Provider<'a> {
    provider: &'a str,
    #[serde(borrow)]
    models: Vec<Model<'a>>,
}

#[derive(Deserialize)]
struct Model<'a> {
    id: &'a str,
    name: &'a str,
    context_window: u64,
    max_output: u64,
    reasoning: bool,
    #[serde(default)]
    input: f64,
    #[serde(default)]
    output: f64,
    #[serde(default)]
    cache_read: f64,
    #[serde(default)]
    cache_write: f64,
    /// Where it is, unless its provider's other models are there, too.
    base_url: Option<&'a str>,
}

/// The built-in catalog. A test reads the same bytes, so the empty one is never seen.
pub(super) fn catalog() -> Catalog {
    parse(MODELS_JSON).unwrap_or_default()
}

pub(super) fn parse(json: &'static str) -> serde_json::Result<Catalog> {
    let snapshot: Snapshot<'static> = serde_json::from_str(json)?;
    let count = snapshot
        .providers
        .iter()
        .map(|provider| provider.models.len())
        .sum();
    let mut models = Vec::with_capacity(count);
    for provider in snapshot.providers {
        models.extend(provider.models.into_iter().map(|model| ModelInfo {
            id: Cow::Borrowed(model.id),
            provider: Cow::Borrowed(provider.provider),
            name: Cow::Borrowed(model.name),
            context_window: model.context_window,
            max_output: model.max_output,
            reasoning: model.reasoning,
            prices: Prices {
                input: model.input,
                output: model.output,
                cache_read: model.cache_read,
                cache_write: model.cache_write,
            },
            base_url: model.base_url.map(ToOwned::to_owned),
            own_server: false,
            tool_dialect: ToolDialect::Native,
        }));
    }
    Ok(Catalog {
        snapshot: snapshot.snapshot,
        builtin: models.len(),
        models,
    })
}
