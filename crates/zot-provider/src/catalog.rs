//! The models zot knows: limits, prices, and whether they reason.
//!
//! A snapshot is built in (`scripts/refresh-catalog` renews it); the user's `models.json` adds
//! models and overrides single fields. Prices go out of date: show [`Catalog::snapshot`] next to
//! them.

use std::borrow::Cow;
use std::path::Path;

use jiff::civil::Date;
use zot_conversation::{Prices, Rates};

use crate::live::LiveModel;

mod accepted;
mod builtin;
mod facts;
mod nearest;
pub(crate) mod rules;
mod user_file;

pub use accepted::AcceptedThinking;
pub use facts::{DEPRECATION_NOTICE_DAYS, Deprecation, Efforts, OpenAiWire, Thinking, today};
pub use nearest::nearest_names;
pub use user_file::{CatalogProblem, UserModels, UserProvider};

/// What is known about one model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelInfo {
    /// The id its provider knows.
    pub id: Cow<'static, str>,
    pub provider: Cow<'static, str>,
    /// For people.
    pub name: Cow<'static, str>,
    /// The most tokens a prompt may have; 0 when unknown. Where the provider limits prompt and
    /// response together, that limit; where it accepts less than the advertised window, what it
    /// accepts.
    pub context_window: u64,
    /// The most tokens of a response.
    pub max_output: u64,
    pub reasoning: bool,
    /// Zero where no price is known.
    pub prices: Prices,
    /// Prices of the provider's batch API, for comparison: zot does not use it.
    pub batch_rates: Option<Rates>,
    /// Prices of the provider's priority tier, for comparison: zot does not use it.
    pub priority_rates: Option<Rates>,
    /// The wire it needs, where its provider has two; `None` for the provider's default.
    pub wire: Option<OpenAiWire>,
    /// How thinking is requested on the Anthropic wire.
    pub thinking: Thinking,
    /// The reasoning efforts it accepts.
    pub efforts: Efforts,
    pub deprecation: Option<Deprecation>,
    /// A server other than the provider's usual one.
    pub base_url: Option<String>,
    /// Whether the user configured `base_url`; such a server may need no key.
    pub own_server: bool,
    pub tool_dialect: ToolDialect,
}

/// How a model makes tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolDialect {
    /// With the fields its wire has for them.
    #[default]
    Native,
    /// As `<tool_call>` blocks in its text.
    Hermes,
}

/// The least that today's compatible servers offer, so that a request is not refused for asking too
/// much.
///
/// Limit: the longest response requested of a model outside the catalog.
const UNKNOWN_MODEL_MAX_OUTPUT: u64 = 8_192;

impl ModelInfo {
    /// Describes a model that no catalog lists, as far as its name allows.
    pub fn unknown(provider: &str, id: &str) -> Self {
        Self {
            id: Cow::Owned(id.to_owned()),
            provider: Cow::Owned(provider.to_owned()),
            name: Cow::Owned(id.to_owned()),
            context_window: 0,
            max_output: UNKNOWN_MODEL_MAX_OUTPUT,
            reasoning: false,
            prices: Prices::default(),
            batch_rates: None,
            priority_rates: None,
            wire: rules::wire(provider, id),
            thinking: rules::thinking(id),
            efforts: rules::efforts(id),
            deprecation: None,
            base_url: None,
            own_server: false,
            tool_dialect: ToolDialect::Native,
        }
    }
}

impl ModelInfo {
    /// Returns a warning for users of a model that has ended or soon will.
    pub fn deprecation_warning(&self, today: Date) -> Option<String> {
        let deprecation = self.deprecation.as_ref()?;
        deprecation.is_near(today).then(|| {
            let end = deprecation.describe(today);
            format!("model {:?} of {} {end}", self.id, self.provider)
        })
    }
}

/// The models of all providers, in a fixed order.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    snapshot: &'static str,
    models: Vec<ModelInfo>,
    /// How many of the models, from the first on, are built in.
    builtin: usize,
}

impl Catalog {
    /// Returns the built-in snapshot only.
    pub fn builtin() -> Self {
        builtin::catalog()
    }

    /// Loads the built-in snapshot and merges the user's `models.json` into it.
    ///
    /// A missing file changes nothing; unusable parts of one are skipped and reported.
    pub fn load(models_json_path: Option<&Path>) -> (Self, UserModels) {
        let mut catalog = Self::builtin();
        let user_models = match models_json_path {
            Some(path) => user_file::merge(path, &mut catalog.models),
            None => UserModels::default(),
        };
        (catalog, user_models)
    }

    /// Adds the unknown models that `provider` lists, and fills in missing facts about known ones.
    pub fn add_live(&mut self, provider: &str, models: &[LiveModel]) {
        for live in models {
            let known = self
                .models
                .iter_mut()
                .find(|known| known.id == live.id && known.provider == provider);
            if let Some(known) = known {
                if known.context_window == 0 {
                    known.context_window = live.context_window;
                }
                if known.deprecation.is_none() {
                    known.deprecation.clone_from(&live.deprecation);
                }
                continue;
            }
            let mut model = ModelInfo::unknown(provider, &live.id);
            model.name = Cow::Owned(live.name.clone());
            model.context_window = live.context_window;
            model.deprecation.clone_from(&live.deprecation);
            // A window hardly larger than a response leaves no room for a prompt.
            let most = match live.context_window {
                0 => u64::MAX,
                window => (window / 2).max(1),
            };
            let wanted = match live.max_output {
                0 => UNKNOWN_MODEL_MAX_OUTPUT,
                tokens => tokens,
            };
            model.max_output = wanted.min(most);
            self.models.push(model);
        }
    }

    /// Lists the models of `owner` for `provider` as well, except those it already has.
    pub fn share(&mut self, owner: &str, provider: &str) {
        let shared: Vec<ModelInfo> = self
            .models(owner)
            .filter(|model| self.find(provider, &model.id).is_none())
            .map(|model| ModelInfo {
                provider: Cow::Owned(provider.to_owned()),
                // Which wire a model needs depends on the provider.
                wire: None,
                ..model.clone()
            })
            .collect();
        self.models.extend(shared);
    }

    /// Returns the date of the built-in data, for example `2026-11-02`.
    pub fn snapshot(&self) -> &'static str {
        self.snapshot
    }

    /// Returns every model, in catalog order.
    pub fn all(&self) -> impl Iterator<Item = &ModelInfo> {
        self.models.iter()
    }

    /// Returns the models of one provider.
    pub fn models<'a>(&'a self, provider: &'a str) -> impl Iterator<Item = &'a ModelInfo> {
        self.models
            .iter()
            .filter(move |model| model.provider == provider)
    }

    pub fn find(&self, provider: &str, id: &str) -> Option<&ModelInfo> {
        self.models
            .iter()
            .find(|model| model.id == id && model.provider == provider)
    }

    /// Returns whether the built-in data lists models of `provider`. If not, the provider is the
    /// user's own server, which may have models that models.json does not list.
    pub fn covers(&self, provider: &str) -> bool {
        self.models
            .iter()
            .take(self.builtin)
            .any(|model| model.provider == provider)
    }

    /// Adds `model`, or replaces the one with the same provider and id.
    pub fn put(&mut self, model: ModelInfo) {
        let known = self
            .models
            .iter_mut()
            .find(|known| known.id == model.id && known.provider == model.provider);
        match known {
            Some(known) => *known = model,
            None => self.models.push(model),
        }
    }

    /// Returns the first model with that id, of any provider.
    pub fn find_anywhere(&self, id: &str) -> Option<&ModelInfo> {
        self.models.iter().find(|model| model.id == id)
    }

    /// Returns up to three ids of `provider` that were probably meant, most likely first.
    pub fn nearest<'a>(&'a self, provider: &'a str, id: &str) -> Vec<&'a str> {
        nearest_names(id, self.models(provider).map(|model| model.id.as_ref()))
    }
}

#[cfg(test)]
mod tests;
