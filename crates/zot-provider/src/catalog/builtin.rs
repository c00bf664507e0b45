//! The snapshot that is compiled in.
//!
//! Every string is borrowed from the executable; parsing must stay within the start-up budget of
//! 100 µs.

use std::borrow::Cow;
use std::fmt;

use jiff::civil::Date;
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
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
    /// Defaults to the id.
    name: Option<&'a str>,
    window: u64,
    output: u64,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    price: RateList,
    #[serde(default)]
    tiers: Vec<Tier>,
    #[serde(default)]
    batch: Option<RateList>,
    #[serde(default)]
    priority: Option<RateList>,
    wire: Option<OpenAiWire>,
    thinking: Option<Thinking>,
    /// Separated by blanks.
    efforts: Option<&'a str>,
    /// Present where it differs from that of the provider's other models.
    base_url: Option<&'a str>,
    #[serde(borrow)]
    deprecated: Option<Deprecated<'a>>,
}

/// Input, output, cache read and cache write; trailing zeros are omitted.
#[derive(Default)]
struct RateList(Rates);

impl<'de> Deserialize<'de> for RateList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(RateListVisitor)
    }
}

struct RateListVisitor;

impl<'de> Visitor<'de> for RateListVisitor {
    type Value = RateList;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("up to four prices")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RateList, A::Error> {
        Ok(RateList(Rates {
            input: list.next_element()?.unwrap_or(0.0),
            output: list.next_element()?.unwrap_or(0.0),
            cache_read: list.next_element()?.unwrap_or(0.0),
            cache_write: list.next_element()?.unwrap_or(0.0),
        }))
    }
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

/// Returns the built-in catalog. A test parses the same bytes, so the empty default is never used.
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
                name: Cow::Borrowed(model.name.unwrap_or(model.id)),
                context_window: model.window,
                max_output: model.output,
                reasoning: model.reasoning,
                prices: Prices {
                    base: model.price.0,
                    tiers: model.tiers.into_iter().map(Into::into).collect(),
                },
                batch_rates: model.batch.map(|list| list.0),
                priority_rates: model.priority.map(|list| list.0),
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
                base_url: model.base_url.map(ToOwned::to_owned),
                own_server: false,
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
