//! The agent runtime as a library: the one API that every front end uses, ours included.
//!
//! A [`Runtime`] is a conversation with a model in a working directory. [`Runtime::prompt`] returns
//! the stream of [`AgentEvent`]s of one prompt: deltas, tool calls and results with their images,
//! usage, retries, compactions. [`wire::event`] turns one into the line that `zot rpc` writes.
//!
//! ```
//! use zot_sdk::{AgentEvent, Config, ModelChoice, Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let runtime = Runtime::new(Config {
//!     // The built-in stand-in: no key, no network. Without it, the first provider with a key.
//!     model: ModelChoice::provider("offline"),
//!     ..Config::default()
//! })?;
//! let mut answer = String::new();
//! let mut events = runtime.prompt("run: echo 6 times 7", Vec::new())?;
//! while let Some(event) = events.next().await {
//!     if let AgentEvent::TextDelta(delta) = event {
//!         answer.push_str(&delta);
//!     }
//! }
//! assert!(answer.contains("6 times 7"));
//! assert_eq!(runtime.state().message_count, 4); // prompt, call, result, answer
//! # Ok(()) }) }
//! ```
//!
//! # One prompt at a time, and how to stop it
//!
//! The stream does the work: read it to its end. A second prompt meanwhile is [`Busy`];
//! [`Runtime::steer`] puts a word into the running one instead. [`Runtime::cancel`] stops it in good
//! order, so go on reading: the last event is [`AgentEvent::Done`]. Dropping the stream stops it at once.
//! What goes wrong on the way is an [`AgentEvent::Failed`], and the runtime lives on.
//!
//! # Tools
//!
//! The agent has `read`, `write`, `edit` and `bash` ([`ToolChoice`] chooses); [`FunctionTool`]
//! makes more from closures and types, with the schema derived:
//!
//! ```
//! use std::sync::Arc;
//! use zot_sdk::{Config, FunctionTool, ModelChoice, Runtime, ToolChoice, ToolSelection};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Sum {
//!     /// What to add up
//!     numbers: Vec<f64>,
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let sum = FunctionTool::new("sum", "Adds numbers.", |args: Sum| async move {
//!     args.numbers.iter().sum::<f64>().to_string()
//! })?;
//! let runtime = Runtime::new(Config {
//!     model: ModelChoice::provider("offline"),
//!     tools: ToolChoice {
//!         custom: vec![Arc::new(sum)],
//!         selection: ToolSelection::Only(vec!["sum".to_owned()]),
//!         ..ToolChoice::default()
//!     },
//!     ..Config::default()
//! })?;
//! assert_eq!(runtime.tools().iter().filter(|tool| tool.enabled).count(), 1);
//! # Ok(()) }
//! ```
//!
//! # Who may do what
//!
//! [`ToolChoice::jail`] and [`Runtime::jail`] keep the built-in tools in the working directory;
//! [`ToolChoice::approval`] makes calls wait for a [`Runtime::confirm`] (an [`AgentEvent::ConfirmationRequested`]
//! asks for it); [`Config::hooks`] watches, blocks and rewrites; [`Config::budget`] and
//! [`Runtime::prompt_within`] limit steps, tokens, money and time.
//!
//! # What the model is told
//!
//! [`Config::system_prompt`] replaces our system prompt or adds to it.
//! Files of the project are read only when [`Config::context`] asks for them: instructions, skills,
//! prompt templates. [`Runtime::context`] lists all parts with what they cost.
//!
//! # Going on elsewhere
//!
//! [`Runtime::full_messages`] and [`Runtime::set_messages`] carry a conversation to another runtime
//! or process and lose nothing; [`Config::session`] keeps it in a session file instead, which
//! `zot` and other runtimes take up again ([`sessions`] lists, searches and exports them). Programs with many runtimes give them one [`HttpClient`].
//! `examples/sdk` has whole programs, `docs/embedding.md` the other languages.

mod alternatives;
mod assembly;
mod causes;
mod config;
pub mod configuration;
pub mod context;
mod credentials;
pub mod doctor;
pub mod extensions;
mod full;
mod function_tool;
mod hooks;
mod hosting;
mod jail;
mod known_secrets;
mod live_models;
pub mod login;
pub mod models;
mod persistence;
pub mod recordings;
mod runtime;
pub mod sessions;
mod settings;
pub mod skills;
mod stream;
mod surroundings;
mod system_prompt;
mod tables;
mod toolbox;
pub mod wire;
mod workspace;

pub use assembly::{AssemblyError, UnknownTool};
pub use causes::with_causes;
pub use config::{
    Config, ContextSearch, ExtensionSearch, ModelChoice, Persistence, PreferredModel, Recording,
    Replay, Resumption, SessionChoice, SkillSearch, SystemPrompt, ToolChoice, ToolSelection,
};
pub use credentials::{
    CredentialKind, CredentialReport, CredentialStatus, Credentials, KeptKey, KeyCheck, KeyNotKept,
    KeyProbe, KeyRefused,
};
pub use full::{InvalidMessage, session_messages};
pub use function_tool::{FunctionTool, IntoToolOutput, InvalidTool, ToolContext, TypedTool};
pub use hosting::PanelAction;
pub use jail::JailReport;
pub use persistence::SessionInfo;
pub use runtime::{
    Busy, ClearError, ContextPart, ModelChangeError, ReloadFailure, Runtime, SetMessagesError,
    ToolChangeError, VERSION,
};
pub use sessions::{Durability, IfChanged, UndoError, UndoReport};
pub use stream::EventStream;
pub use system_prompt::ContextKind;
pub use workspace::Workspace;
pub use zot_agent::{
    ApprovalPolicy, ApprovalScope, AtStepLimit, Budget, Decision, Hooks, MessageVerdict,
    NotWaiting, Remember, SteerError, StepLimit, ToolVerdict, TurnVerdict, Verdict,
};
pub use zot_auth as auth;
pub use zot_auth::zot_home;
pub use zot_config as config_files;
pub use zot_conversation as conversation;
pub use zot_conversation::{
    AgentEvent, Arguments, BoxFuture, ErrorCode, ErrorReport, Image, Progress, ReasoningEffort,
    Tool, ToolCall, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput, ToolSet, TurnStop,
};
pub use zot_extension_host::{InvokeError, Notice as ExtensionNotice, ReloadError, RequestError};
pub use zot_provider::HttpClient;
pub use zot_provider::catalog::{
    Catalog, Deprecation, Efforts, ModelInfo, OpenAiWire, Thinking, ToolDialect, today,
};
pub use zot_provider::network::{Plan, PlanError, ProbeStep};
pub use zot_tools::{CommandConfinement, JailError};
pub use zot_wire::rpc::{
    CommandEntry, ContentBlock, CumulativeUsage, Event, ExtensionEntry, FullBlock, FullMessage,
    InvokedData, Message, ModelEntry, RepairReport, Role, SessionData, StateData, ToolEntry,
    UsageData,
};
