//! The flags that choose a model.

use clap::Args;
use clap::builder::PossibleValuesParser;
use zot_sdk::{ModelChoice, OpenAiWire, PreferredModel};

use super::values::{trim_names, unset_empty};

#[derive(Args)]
pub(super) struct ModelArguments {
    /// anthropic, openai, openai-responses, gemini, deepseek, kimi, ollama, openrouter, groq, xai,
    /// mistral, together, fireworks, cerebras, lmstudio, vllm, offline, replay, or one of
    /// providers.json
    #[arg(long, value_name = "NAME")]
    pub(super) provider: Option<String>,
    /// The model's id; see --list-models
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Models that take over when the provider fails: provider/model, or a provider for its default model
    #[arg(long, value_name = "A/M,B", value_delimiter = ',')]
    fallback: Vec<String>,
    /// The provider's key, visible to all processes (better: its variable, or `zot login`)
    #[arg(long, value_name = "KEY", allow_hyphen_values = true)]
    api_key: Option<String>,
    /// Use a compatible server instead of the provider's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Which of OpenAI's two wires to use [default: the one that the model needs]
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
