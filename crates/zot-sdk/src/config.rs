//! What a runtime is made from.

use std::path::PathBuf;
use std::sync::Arc;

use zot_agent::{ApprovalPolicy, Budget, Hooks};
use zot_cassette::{ReplayMode, ReplayPace};
use zot_conversation::{ReasoningEffort, Tool};
use zot_provider::HttpClient;
use zot_provider::catalog::{OpenAiWire, ToolDialect};
use zot_session::Durability;

/// What a [`Runtime`](crate::Runtime) is made from. Everything has a default.
#[derive(Clone, Default)]
pub struct Config {
    /// For example `anthropic`. Without one, the first provider that has a credential is used.
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Who goes on with a prompt when the provider fails, in this order: `provider/model`, or the
    /// provider alone for its default model.
    pub fallback: Vec<String>,
    /// What to use where neither is given.
    pub preferred: PreferredModel,
    pub api_key: Option<String>,
    /// A compatible server instead of the provider's own.
    pub base_url: Option<String>,
    /// Which of OpenAI's two wires is used; what the catalog says of the model when not given.
    pub wire: Option<OpenAiWire>,
    /// Whether the provider may be asked, beside the work, which models it has.
    pub live_models: bool,
    /// Shared by the runtimes of one program, so that they share connections and certificates.
    pub http: Option<HttpClient>,
    /// Where the agent works; the process's directory when not given.
    pub cwd: Option<PathBuf>,
    /// zot's own directory; `$ZOT_HOME` and its defaults when not given.
    pub home: Option<PathBuf>,
    /// Replaces the built-in system prompt.
    pub system_prompt: Option<String>,
    /// Added to the system prompt, in order.
    pub append_system_prompt: Vec<String>,
    pub reasoning: Option<ReasoningEffort>,
    /// How many model calls one prompt may take; no limit when not given, but that of the budget.
    pub max_steps: Option<u32>,
    /// Whether a prompt that reaches a limit on steps waits for [`Runtime::allow_steps`] instead of
    /// ending with an error.
    ///
    /// [`Runtime::allow_steps`]: crate::Runtime::allow_steps
    pub asks_for_steps: bool,
    pub tools: ToolSelection,
    /// How the model makes tool calls; what the catalog says when not given.
    pub tool_dialect: Option<ToolDialect>,
    /// Tools of the embedding program, beside the built-in ones.
    pub custom_tools: Vec<Arc<dyn Tool>>,
    /// Watches and steps in, after the extensions: it has the last word.
    pub hooks: Option<Arc<dyn Hooks>>,
    pub persistence: Persistence,
    /// How the session file is written to.
    pub session: SessionOptions,
    pub extensions: ExtensionSearch,
    pub context: ContextSearch,
    /// Whether `read`, `write`, `edit` and `bash` are confined to the working directory, as by
    /// [`Runtime::jail`](crate::Runtime::jail).
    pub jail: bool,
    /// Which tool calls need someone's permission.
    pub approval: ApprovalPolicy,
    /// What everything together may spend.
    pub budget: Budget,
    /// Where to write a cassette of all model exchanges.
    pub record: Option<PathBuf>,
    /// Texts that the cassette must not hold, beside all keys that are known.
    pub secrets: Vec<String>,
    /// Answers come from a cassette; the provider is then `replay`.
    pub replay: Option<Replay>,
}

/// A habit, not a command: what else is given may decide otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PreferredModel {
    /// Used unless the model that is asked for is known to be another provider's.
    pub provider: Option<String>,
    /// Used with the preferred provider only, if there is one.
    pub model: Option<String>,
}

/// A cassette to answer from.
#[derive(Debug, Clone)]
pub struct Replay {
    pub cassette: PathBuf,
    pub mode: ReplayMode,
    pub pace: ReplayPace,
}

/// Which tools the model is given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolSelection {
    #[default]
    All,
    /// Those of extensions alone: who wants none of these starts no extensions.
    None,
    /// Of the built-in tools and the embedding program's those that are named, all of them when no name
    /// is without a leading `-`; and the tools of extensions. A name with a leading `-` takes the tool
    /// away, wherever it comes from.
    Only(Vec<String>),
    /// These and no others, those of extensions included.
    Exactly(Vec<String>),
}

impl ToolSelection {
    /// Names that have to be those of tools.
    pub(crate) fn wanted(&self) -> Vec<String> {
        match self {
            Self::All | Self::None => Vec::new(),
            Self::Only(names) => {
                let wanted = names.iter().filter(|name| !name.starts_with('-'));
                wanted.cloned().collect()
            }
            Self::Exactly(names) => names.clone(),
        }
    }

    /// Names of tools to be taken away.
    pub(crate) fn removed(&self) -> Vec<String> {
        match self {
            Self::Only(names) => {
                let removed = names.iter().filter_map(|name| name.strip_prefix('-'));
                removed.map(ToOwned::to_owned).collect()
            }
            Self::All | Self::None | Self::Exactly(_) => Vec::new(),
        }
    }

    /// Whether the model gets a tool.
    pub(crate) fn includes(&self, name: &str, is_extensions: bool) -> bool {
        match self {
            Self::All => true,
            Self::None => is_extensions,
            Self::Only(names) => {
                let is_removed = names.iter().any(|n| n.strip_prefix('-') == Some(name));
                let mut wanted = names
                    .iter()
                    .filter(|name| !name.starts_with('-'))
                    .peekable();
                let is_wanted = wanted.peek().is_none() || wanted.any(|wanted| wanted == name);
                !is_removed && (is_extensions || is_wanted)
            }
            Self::Exactly(names) => names.iter().any(|wanted| wanted == name),
        }
    }
}

/// Which extensions are started. By default none are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExtensionSearch {
    /// Those in `./.zot/extensions` and `$ZOT_HOME/extensions`.
    pub discover: bool,
    /// Directories of extensions to start besides; they win over discovered ones of the same name.
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
    /// Those of the project and the user, too.
    All,
}

/// Whether the conversation is written to a session file, and to which.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Persistence {
    /// The embedding program keeps the conversation, or nobody does.
    #[default]
    Never,
    /// A new one below `$ZOT_HOME/sessions`.
    SessionFile,
    /// The one of this working directory that was last added to, or a new one.
    Continue,
    /// The one with this id, the beginning of one, or this path.
    Resume(String),
    /// This file, which is made if it is not there.
    File(PathBuf),
}

/// How a session file is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionOptions {
    pub durability: Durability,
    pub resumption: Resumption,
}

/// Where a conversation that is taken up goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Resumption {
    /// In its own file, which only one process can write to.
    #[default]
    Append,
    /// In a new session that begins with its messages.
    Fork,
}
