//! The first line of a cassette.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use zot_conversation::{PriceTier, Prices, Rates, ToolImages};

/// The format this version writes. A higher number means that older readers would misread the file.
pub(super) const FORMAT: u32 = 1;

/// What a cassette keeps about a model, so that a replay needs no catalog: the limits decide when a
/// conversation is compacted, the prices what it costs.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedModel {
    pub provider: String,
    pub id: String,
    pub reasoning: bool,
    /// The most tokens a prompt may have; 0 when unknown.
    pub context_window: u64,
    /// The most tokens a response may have; 0 when unknown.
    pub max_output: u64,
    pub prices: Prices,
    pub tool_images: ToolImages,
}

/// The description of a cassette in its first line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub(super) zot_cassette: u32,
    /// The version of zot that wrote the file.
    pub version: String,
    pub provider: String,
    pub model: String,
    /// RFC 3339.
    pub created: String,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    context_window: u64,
    #[serde(default)]
    max_output: u64,
    #[serde(default)]
    prices: PriceRecord,
    #[serde(default)]
    tool_images: ToolImagesRecord,
    /// The backup models, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) fallbacks: Vec<FallbackRecord>,
}

/// A backup model, for when another fails.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FallbackRecord {
    pub(super) provider: String,
    pub(super) model: String,
    #[serde(default)]
    reasoning: bool,
    #[serde(default)]
    context_window: u64,
    #[serde(default)]
    max_output: u64,
    #[serde(default)]
    prices: PriceRecord,
    #[serde(default)]
    tool_images: ToolImagesRecord,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct PriceRecord {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    /// For long prompts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tiers: Vec<TierRecord>,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
struct TierRecord {
    above: u64,
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ToolImagesRecord {
    #[default]
    Seen,
    NeedMirror,
}

impl Header {
    /// Returns the header of a recording that begins now.
    pub fn new(model: &RecordedModel) -> Self {
        Self {
            zot_cassette: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            provider: model.provider.clone(),
            model: model.id.clone(),
            created: Timestamp::now().to_string(),
            reasoning: model.reasoning,
            context_window: model.context_window,
            max_output: model.max_output,
            prices: (&model.prices).into(),
            tool_images: model.tool_images.into(),
            fallbacks: Vec::new(),
        }
    }

    /// Adds a backup model for when those before it fail.
    pub fn add_fallback(&mut self, model: &RecordedModel) {
        self.fallbacks.push(FallbackRecord {
            provider: model.provider.clone(),
            model: model.id.clone(),
            reasoning: model.reasoning,
            context_window: model.context_window,
            max_output: model.max_output,
            prices: (&model.prices).into(),
            tool_images: model.tool_images.into(),
        });
    }

    /// Returns the model the recording began with, as it was known then.
    pub fn recorded_model(&self) -> RecordedModel {
        RecordedModel {
            provider: self.provider.clone(),
            id: self.model.clone(),
            reasoning: self.reasoning,
            context_window: self.context_window,
            max_output: self.max_output,
            prices: (&self.prices).into(),
            tool_images: self.tool_images.into(),
        }
    }

    pub(crate) fn tool_images(&self) -> ToolImages {
        self.tool_images.into()
    }
}

impl FallbackRecord {
    pub(crate) fn recorded_model(&self) -> RecordedModel {
        RecordedModel {
            provider: self.provider.clone(),
            id: self.model.clone(),
            reasoning: self.reasoning,
            context_window: self.context_window,
            max_output: self.max_output,
            prices: (&self.prices).into(),
            tool_images: self.tool_images.into(),
        }
    }
}

impl From<&Prices> for PriceRecord {
    fn from(prices: &Prices) -> Self {
        let tier = |tier: &PriceTier| TierRecord {
            above: tier.above,
            input: tier.rates.input,
            output: tier.rates.output,
            cache_read: tier.rates.cache_read,
            cache_write: tier.rates.cache_write,
        };
        Self {
            input: prices.base.input,
            output: prices.base.output,
            cache_read: prices.base.cache_read,
            cache_write: prices.base.cache_write,
            tiers: prices.tiers.iter().map(tier).collect(),
        }
    }
}

impl From<&PriceRecord> for Prices {
    fn from(record: &PriceRecord) -> Self {
        let tier = |tier: &TierRecord| PriceTier {
            above: tier.above,
            rates: Rates {
                input: tier.input,
                output: tier.output,
                cache_read: tier.cache_read,
                cache_write: tier.cache_write,
            },
        };
        Self {
            base: Rates {
                input: record.input,
                output: record.output,
                cache_read: record.cache_read,
                cache_write: record.cache_write,
            },
            tiers: record.tiers.iter().map(tier).collect(),
        }
    }
}

impl From<ToolImages> for ToolImagesRecord {
    fn from(tool_images: ToolImages) -> Self {
        match tool_images {
            ToolImages::Seen => Self::Seen,
            ToolImages::NeedMirror => Self::NeedMirror,
        }
    }
}

impl From<ToolImagesRecord> for ToolImages {
    fn from(record: ToolImagesRecord) -> Self {
        match record {
            ToolImagesRecord::Seen => Self::Seen,
            ToolImagesRecord::NeedMirror => Self::NeedMirror,
        }
    }
}
