//! What a runtime is made from.

mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use zot_agent::{Budget, Hooks, StepLimit};
use zot_cassette::{ReplayMode, ReplayPace};
use zot_conversation::ReasoningEffort;
use zot_provider::HttpClient;
use zot_provider::catalog::OpenAiWire;
use zot_session::Durability;

pub(crate) use tools::ToolOrigin;
pub use tools::{ToolChoice, ToolSelection};

/// Describes the [`Runtime`](crate::Runtime) to make. Everything has a default.
///
/// ```
/// use zot_sdk::{Config, ModelChoice};
///
/// let config = Config {
///     model: ModelChoice::provider("offline"),
///     ..Config::default()
/// };
/// ```
#[derive(Clone, Default)]
pub struct Config {
    /// Which model answers, and how it is reached.
    pub model: ModelChoice,
    /// How hard a reasoning model thinks; as much as the model does by default when not given.
    pub reasoning: Option<ReasoningEffort>,
    /// How many model calls one prompt may take; unlimited by default, except by the budget.
    pub steps: StepLimit,
    /// What all prompts together may spend.
    pub budget: Budget,
    /// What the model is told before everything else.
    pub system_prompt: SystemPrompt,
    /// What the model is told about the project; nothing by default.
    pub context: ContextSearch,
    /// Which tools the model has, and what they may do.
    pub tools: ToolChoice,
    /// Watches and intervenes, after the extensions: it has the last word.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Which extensions are started; none by default.
    pub extensions: ExtensionSearch,
    /// Whether and how the conversation is kept on disk; not at all by default.
    pub session: SessionChoice,
    /// Whether model calls are recorded, or answered from a recording.
    pub recording: Recording,
    /// Shared by the runtimes of one program, so that they share connections and certificates.
    pub http: Option<HttpClient>,
    /// The agent's working directory; that of the process when not given.
    pub cwd: Option<PathBuf>,
    /// zot's own directory; `$ZOT_HOME` and its defaults when not given.
    pub home: Option<PathBuf>,
}

/// Names a model and says how it is reached. By default it is the default model of the first
/// provider that has a credential.
#[derive(Clone, Default)]
pub struct ModelChoice {
    /// For example `anthropic`. Without one, the first provider that has a credential is used.
    pub provider: Option<String>,
    /// The model's id; the provider's default model when not given.
    pub model: Option<String>,
    /// Models that take over when the provider fails, in this order: `provider/model`, or only the
    /// provider for its default model.
    pub fallback: Vec<String>,
    /// What to use where neither provider nor model is given.
    pub preferred: PreferredModel,
    /// The key to send; looked up in the environment and in `auth.json` when not given.
    pub api_key: Option<String>,
    /// A compatible server to use instead of the provider's own.
    pub base_url: Option<String>,
    /// Which of OpenAI's two wires is used; the one that the catalog names for the model when not
    /// given.
    pub wire: Option<OpenAiWire>,
    /// Whether the provider may be asked, alongside the work, which models it has.
    pub live_models: bool,
}

impl ModelChoice {
    /// Chooses the default model of `provider`.
    pub fn provider(provider: impl Into<String>) -> Self {
        Self {
            provider: Some(provider.into()),
            ..Self::default()
        }
    }

    /// Returns whether a provider or a model is named.
    pub(crate) fn is_explicit(&self) -> bool {
        self.provider.is_some() || self.model.is_some()
    }
}

/// A preference for a model, which anything more specific overrides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreferredModel {
    /// Used unless the requested model is known to belong to another provider.
    pub provider: Option<String>,
    /// Used with the preferred provider only, if there is one.
    pub model: Option<String>,
}

/// What the model is told before everything else.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPrompt {
    /// Replaces the built-in system prompt and `$ZOT_HOME/SYSTEM.md`.
    pub replacement: Option<String>,
    /// Texts added to the system prompt, in order.
    pub additions: Vec<String>,
}

/// Which extensions are started. By default none are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtensionSearch {
    /// Whether those in `./.zot/extensions` and `$ZOT_HOME/extensions` are.
    pub discover: bool,
    /// Directories of further extensions; they win over discovered ones of the same name.
    pub paths: Vec<PathBuf>,
}

/// What is read to tell the model about the project it works in. By default nothing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContextSearch {
    /// `AGENTS.md`, `CLAUDE.md` and `.zot/instructions.md` of the working directory and the directories
    /// above it, up to the root of the repository.
    pub instructions: bool,
    /// Prompt templates in `./.zot/prompts` and `$ZOT_HOME/prompts`: they appear among the
    /// [commands](crate::Runtime::commands).
    pub templates: bool,
    /// Which skills the model can load.
    pub skills: SkillSearch,
}

/// Which skills the model can load, with the tool `skill`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillSearch {
    /// None, and no tool to load them with.
    #[default]
    None,
    /// Those that are part of zot.
    BuiltIn,
    /// Also those of the project and the user.
    All,
}

/// Whether and how a conversation is kept on disk.
///
/// A [`Persistence`] alone makes one: `session: Persistence::SessionFile.into()`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionChoice {
    /// Whether the conversation is written to a session file, and to which.
    pub persistence: Persistence,
    /// What a session file survives.
    pub durability: Durability,
    /// Where a resumed conversation continues.
    pub resumption: Resumption,
}

impl From<Persistence> for SessionChoice {
    fn from(persistence: Persistence) -> Self {
        Self {
            persistence,
            ..Self::default()
        }
    }
}

/// Whether the conversation is written to a session file, and to which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Persistence {
    /// To none: the embedding program keeps the conversation, if anything does.
    #[default]
    Never,
    /// A new one below `$ZOT_HOME/sessions`.
    SessionFile,
    /// The most recently changed one of this working directory, or a new one.
    Continue,
    /// The one with this id, the beginning of one, or this path.
    Resume(String),
    /// This file, which is created if it does not exist.
    File(PathBuf),
}

/// Where a resumed conversation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resumption {
    /// In its own file, which only one process can write to.
    #[default]
    Append,
    /// In a new session that starts with its messages.
    Fork,
}

/// Whether model calls are recorded, or answered from a recording (a cassette).
#[derive(Clone, Default)]
pub struct Recording {
    /// Where to write a cassette of all model calls.
    pub record: Option<PathBuf>,
    /// Texts that the cassette must not contain, in addition to all known keys.
    pub secrets: Vec<String>,
    /// Answers come from this cassette; the provider is then `replay`.
    pub replay: Option<Replay>,
}

/// A cassette to answer from.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The cassette's path.
    pub cassette: PathBuf,
    /// What happens to a request that differs from the recorded one.
    pub mode: ReplayMode,
    /// How fast the answers come.
    pub pace: ReplayPace,
}
