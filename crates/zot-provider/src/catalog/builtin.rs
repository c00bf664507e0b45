//! The snapshot that is compiled in.
//!
//! Every text is borrowed from the program itself; reading all of it must stay within the start-up
//! budget of 100 µs.

use std::borrow::Cow;

use jiff::civil::Date;
use serde::Deserialize;
use zot_conversation::{PriceTier, Prices, Rates};

use super::{Catalog, Deprecation, Efforts, ModelInfo, OpenAiWire, Thinking, ToolDialect};
use super::{facts, rules};

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
    #[serde(default)]
    tiers: Vec<Tier>,
    wire: Option<OpenAiWire>,
    thinking: Option<Thinking>,
    /// Separated by blanks.
    efforts: Option<&'a str>,
    #[serde(borrow)]
    deprecated: Option<Deprecated<'a>>,
}

/// The threshold, then input, output, cache read and cache write.
#[derive(Deserialize)]
struct Tier(u64, f64, f64, f64, f64);

#[derive(Deserialize)]
struct Deprecated<'a> {
    #[serde(deserialize_with = "facts::date")]
    ends: Date,
    replacement: Option<&'a str>,
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
        models.extend(provider.models.into_iter().map(|model| {
            ModelInfo {
                id: Cow::Borrowed(model.id),
                provider: Cow::Borrowed(provider.provider),
                name: Cow::Borrowed(model.name),
                context_window: model.context_window,
                max_output: model.max_output,
                reasoning: model.reasoning,
                prices: Prices {
                    base: Rates {
                        input: model.input,
                        output: model.output,
                        cache_read: model.cache_read,
                        cache_write: model.cache_write,
                    },
                    tiers: model.tiers.into_iter().map(Into::into).collect(),
                },
                wire: model
                    .wire
                    .or_else(|| rules::wire(provider.provider, model.id)),
                thinking: model.thinking.unwrap_or_else(|| rules::thinking(model.id)),
                efforts: match model.efforts {
                    Some(words) => Efforts::from_words(words),
                    None if model.reasoning => rules::efforts(model.id),
                    None => Efforts::NONE,
                },
                deprecation: model.deprecated.map(|deprecated| Deprecation {
                    ends: deprecated.ends,
                    replacement: deprecated.replacement.map(Cow::Borrowed),
                }),
                base_url: None,
                tool_dialect: ToolDialect::Native,
            }
        }));
    }
    Ok(Catalog {
        snapshot: snapshot.snapshot,
        builtin: models.len(),
        models,
    })
}

impl From<Tier> for PriceTier {
    fn from(Tier(above, input, output, cache_read, cache_write): Tier) -> Self {
        Self {
            above,
            rates: Rates {
                input,
                output,
                cache_read,
                cache_write,
            },
        }
    }
}
