//! The configuration of a runtime.

mod sandbox;
mod servers;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;

use zot_agent::{Budget, Hooks, StepLimit};
use zot_cassette::{ReplayMode, ReplayPace};
use zot_conversation::ReasoningEffort;
use zot_process::sandbox::Level;
use zot_provider::HttpClient;
use zot_provider::catalog::OpenAiWire;
use zot_session::{Durability, Replica};

pub use sandbox::SandboxChoice;
pub(crate) use sandbox::jailed;
pub use servers::McpChoice;
pub use tools::{ToolChoice, ToolSelection};
pub(crate) use tools::{ToolOrigin, matches};

/// Describes the [`Runtime`](crate::Runtime) to create. Everything has a default.
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
    /// How hard a reasoning model thinks; the model's default if not set.
    pub reasoning: Option<ReasoningEffort>,
    /// How many model calls one prompt may take; limited only by the budget by default.
    pub steps: StepLimit,
    /// What all prompts together may spend.
    pub budget: Budget,
    /// The instructions at the start of every request.
    pub system_prompt: SystemPrompt,
    /// Which files of the project the model gets to know; none by default.
    pub context: ContextSearch,
    /// Which tools the model has, and what they may do.
    pub tools: ToolChoice,
    /// Observes and intervenes, after the extensions.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Which extensions are started; none by default.
    pub extensions: ExtensionSearch,
    /// Which MCP servers are used; none by default.
    pub mcp: McpChoice,
    /// Whether and how the conversation is kept on disk; not at all by default.
    pub session: SessionChoice,
    /// Whether model calls are recorded or replayed.
    pub recording: Recording,
    /// Shared by the runtimes of one program, so that they share connections and certificates.
    pub http: Option<HttpClient>,
    /// The agent's working directory; that of the process if not set.
    pub cwd: Option<PathBuf>,
    /// zot's own directory; `$ZOT_HOME` or its default if not set.
    pub home: Option<PathBuf>,
}

/// Names a model and how to reach it. The default is the default model of the first provider that has
/// a credential.
#[derive(Clone, Default)]
pub struct ModelChoice {
    /// For example `anthropic`. Without one, the first provider that has a credential is used.
    pub provider: Option<String>,
    /// The model's id; the provider's default model if not set.
    pub model: Option<String>,
    /// Models that take over when the provider fails, in this order: `provider/model`, or only the
    /// provider for its default model.
    pub fallback: Vec<String>,
    /// The model to use if neither provider nor model is set.
    pub preferred: PreferredModel,
    /// The key to send; looked up in the environment and in `auth.json` if not set.
    pub api_key: Option<String>,
    /// A compatible server to use instead of the provider's own.
    pub base_url: Option<String>,
    /// Which of OpenAI's two wires is used; the one in the catalog if not set.
    pub wire: Option<OpenAiWire>,
    /// Whether the provider's list of models may be refreshed in the background.
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

/// A preferred model, which any explicit choice overrides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreferredModel {
    /// Used unless the requested model is known to belong to another provider.
    pub provider: Option<String>,
    /// Used with the preferred provider only, if there is one.
    pub model: Option<String>,
}

/// The instructions at the start of every request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SystemPrompt {
    /// Replaces the built-in system prompt and `$ZOT_HOME/SYSTEM.md`.
    pub replacement: Option<String>,
    /// Texts added to the system prompt, in order.
    pub additions: Vec<String>,
}

/// Which extensions are started; none by default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtensionSearch {
    /// Whether those in `./.zot/extensions` and `$ZOT_HOME/extensions` are started.
    pub discover: bool,
    /// Directories of further extensions, which override discovered ones of the same name.
    pub paths: Vec<PathBuf>,
    /// The least that they are confined to. What the permissions in the manifest of an extension allow is
    /// added, unless it is part of the project.
    pub sandbox: Level,
}

/// Which files of the project are read for the model; none by default.
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
    /// None, and no tool to load them.
    #[default]
    None,
    /// The built-in ones.
    BuiltIn,
    /// The built-in ones and those of the project and the user.
    All,
}

/// Whether and how a conversation is kept on disk.
///
/// Can be converted from a [`Persistence`]: `session: Persistence::SessionFile.into()`.
#[derive(Debug, Clone, Default)]
pub struct SessionChoice {
    /// Whether the conversation is written to a session file, and to which.
    pub persistence: Persistence,
    /// What a session file survives.
    pub durability: Durability,
    /// Where a resumed conversation continues.
    pub resumption: Resumption,
    /// The id of a new session; a random one if not set.
    pub id: Option<String>,
    /// Also gets everything that is written to the session file. Nothing is reported before it has it.
    pub replica: Option<Arc<dyn Replica>>,
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
    /// Not at all.
    #[default]
    Never,
    /// To a new one below `$ZOT_HOME/sessions`.
    SessionFile,
    /// To the most recently changed one of this working directory, or a new one.
    Continue,
    /// To the one with this id, beginning of an id, or path.
    Resume(String),
    /// To this file, which is created if it does not exist.
    File(PathBuf),
}

/// Where a resumed conversation continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resumption {
    /// In its own file, to which only one process can write.
    #[default]
    Append,
    /// In a new session that starts with its messages.
    Fork,
}

/// Whether model calls are recorded to a file (a cassette) or replayed from one.
#[derive(Clone, Default)]
pub struct Recording {
    /// Where to write a cassette of all model calls.
    pub record: Option<PathBuf>,
    /// Texts that the cassette must not contain, in addition to all known keys.
    pub secrets: Vec<String>,
    /// Replays this cassette; the provider is then `replay`.
    pub replay: Option<Replay>,
}

/// A cassette to replay.
#[derive(Debug, Clone)]
pub struct Replay {
    /// The cassette's path.
    pub cassette: PathBuf,
    /// How requests that differ from the recorded ones are handled.
    pub mode: ReplayMode,
    /// How fast the responses are replayed.
    pub pace: ReplayPace,
}
