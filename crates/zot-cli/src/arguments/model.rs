//! The flags that choose a model.

use clap::Args;
use clap::builder::PossibleValuesParser;
use zot_sdk::{ModelChoice, OpenAiWire, PreferredModel};

use super::heading;
use super::values::{trim_names, unset_empty};

#[derive(Args)]
#[command(next_help_heading = heading::MODEL)]
pub(super) struct ModelArguments {
    /// The provider of the model: anthropic, openai, gemini, ollama, openrouter, … (`zot --list-models`),
    /// one of your providers.json, or offline, a stand-in that needs no key
    #[arg(long, value_name = "NAME", help_heading = heading::COMMON, display_order = 5)]
    pub(super) provider: Option<String>,
    /// The model (`zot --list-models`)
    #[arg(long, value_name = "ID", help_heading = heading::COMMON, display_order = 6)]
    model: Option<String>,
    /// Backup models, in order: provider/model, or a provider for its default model
    #[arg(long, value_name = "A/M,B", value_delimiter = ',')]
    fallback: Vec<String>,
    /// The provider's key; other users can see it, so prefer a variable or `zot login`
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    api_key: Option<String>,
    /// The address of a compatible server to use instead of the provider's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Which of OpenAI's two APIs to use [default: the one the model needs]
    #[arg(long, value_name = "WIRE", value_parser = PossibleValuesParser::new(OpenAiWire::NAMES))]
    wire: Option<String>,
}

impl ModelArguments {
    pub(super) fn unset_empty(&mut self) {
        unset_empty(&mut self.provider);
        unset_empty(&mut self.model);
        unset_empty(&mut self.api_key);
        unset_empty(&mut self.base_url);
        trim_names(&mut self.fallback);
    }
}

impl From<ModelArguments> for ModelChoice {
    fn from(arguments: ModelArguments) -> Self {
        Self {
            provider: arguments.provider,
            model: arguments.model,
            fallback: arguments.fallback,
            preferred: PreferredModel::default(),
            api_key: arguments.api_key,
            base_url: arguments.base_url,
            wire: arguments.wire.as_deref().and_then(OpenAiWire::named),
            live_models: true,
        }
    }
}
