//! The providers known by name. Data only: adding one means adding a row.

use crate::openai::{EffortField, OpenAiQuirks, OutputLimitField, ReasoningReplay, UsageReport};

/// What is known about a provider.
#[derive(Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    pub name: &'static str,
    pub base_url: &'static str,
    pub wire: Wire,
    /// Environment variables that may hold the key; the first that is set wins.
    pub key_variables: &'static [&'static str],
    pub key: KeyRequirement,
    pub default_model: &'static str,
}

/// The language a provider speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    Anthropic,
    OpenAiChat(OpenAiQuirks),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRequirement {
    Needed,
    Optional,
}

const COMPATIBLE: OpenAiQuirks = OpenAiQuirks::COMPATIBLE;

const PROVIDERS: [ProviderEntry; 9] = [
    ProviderEntry {
        name: "anthropic",
        base_url: "https://api.anthropic.com",
        wire: Wire::Anthropic,
        key_variables: &["ANTHROPIC_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "claude-sonnet-4-5",
    },
    ProviderEntry {
        name: "openai",
        base_url: "https://api.openai.com/v1",
        wire: Wire::OpenAiChat(OpenAiQuirks {
            output_limit: OutputLimitField::MaxCompletionTokens,
            ..COMPATIBLE
        }),
        key_variables: &["OPENAI_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "gpt-5",
    },
    ProviderEntry {
        name: "deepseek",
        base_url: "https://api.deepseek.com/v1",
        wire: Wire::OpenAiChat(OpenAiQuirks {
            effort: EffortField::Absent,
            reasoning_replay: ReasoningReplay::WithToolCalls,
            ..COMPATIBLE
        }),
        key_variables: &["DEEPSEEK_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "deepseek-chat",
    },
    ProviderEntry {
        name: "kimi",
        base_url: "https://api.moonshot.ai/v1",
        wire: Wire::OpenAiChat(OpenAiQuirks {
            effort: EffortField::Absent,
            reasoning_replay: ReasoningReplay::Always,
            ..COMPATIBLE
        }),
        key_variables: &["KIMI_API_KEY", "MOONSHOT_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "kimi-k2.5",
    },
    ProviderEntry {
        name: "ollama",
        base_url: "http://127.0.0.1:11434/v1",
        wire: Wire::OpenAiChat(COMPATIBLE),
        key_variables: &["OLLAMA_API_KEY"],
        key: KeyRequirement::Optional,
        default_model: "qwen3",
    },
    ProviderEntry {
        name: "openrouter",
        base_url: "https://openrouter.ai/api/v1",
        wire: Wire::OpenAiChat(COMPATIBLE),
        key_variables: &["OPENROUTER_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "anthropic/claude-sonnet-4.5",
    },
    ProviderEntry {
        name: "groq",
        base_url: "https://api.groq.com/openai/v1",
        wire: Wire::OpenAiChat(COMPATIBLE),
        key_variables: &["GROQ_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "openai/gpt-oss-120b",
    },
    ProviderEntry {
        name: "xai",
        base_url: "https://api.x.ai/v1",
        wire: Wire::OpenAiChat(COMPATIBLE),
        key_variables: &["XAI_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "grok-4",
    },
    ProviderEntry {
        name: "mistral",
        base_url: "https://api.mistral.ai/v1",
        wire: Wire::OpenAiChat(OpenAiQuirks {
            effort: EffortField::Absent,
            usage_report: UsageReport::Always,
            ..COMPATIBLE
        }),
        key_variables: &["MISTRAL_API_KEY"],
        key: KeyRequirement::Needed,
        default_model: "mistral-large-latest",
    },
];

/// The provider called `name`.
pub fn provider(name: &str) -> Option<&'static ProviderEntry> {
    providers().iter().find(|entry| entry.name == name)
}

/// All providers, in the order in which they are offered.
pub fn providers() -> &'static [ProviderEntry] {
    &PROVIDERS
}
