//! The agent runtime as a library: the API of every front end, including ours.
//!
//! A [`Runtime`] is a conversation with a model in a working directory. [`Runtime::prompt`] returns
//! the stream of [`AgentEvent`]s of one prompt: deltas, tool calls and results with their images,
//! usage, retries, compactions. [`wire::event`] converts one into what `zot rpc` writes.
//!
//! ```
//! use zot_sdk::{AgentEvent, Config, ModelChoice, Runtime};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let runtime = Runtime::new(Config {
//!     // The built-in stand-in: no key, no network. Without this line, the first provider with a key.
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
//! The stream does the work: read it to its end. A second prompt meanwhile is refused as [`Busy`];
//! [`Runtime::steer`] adds a message to the running one instead. [`Runtime::cancel`] stops it in an
//! orderly way: keep reading until the last event, [`AgentEvent::Done`]. Dropping the stream stops it
//! immediately. Errors are [`AgentEvent::Failed`] events; the runtime stays usable.
//!
//! # Tools
//!
//! The agent has `read`, `write`, `edit` and `bash` ([`ToolChoice`] selects); [`FunctionTool`]
//! creates more from closures and types, with a derived schema:
//!
//! ```
//! use std::sync::Arc;
//! use zot_sdk::{Config, FunctionTool, ModelChoice, Runtime, ToolChoice, ToolSelection};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Sum {
//!     /// The numbers to add up
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
//! # Permissions and limits
//!
//! [`ToolChoice::sandbox`] and [`Runtime::set_sandbox`] decide what the built-in tools may do, and
//! [`ToolChoice::jail`] and [`Runtime::jail`] confine them to the working directory;
//! [`ToolChoice::approval`] makes calls wait for [`Runtime::confirm`] (an
//! [`AgentEvent::ConfirmationRequested`] asks for it); [`Config::hooks`] observes, blocks and rewrites;
//! [`Config::budget`] and [`Runtime::prompt_within`] limit steps, tokens, money and time.
//!
//! # MCP servers
//!
//! [`Config::mcp`] chooses MCP servers: those of the user or of the project, those in files, or entries made
//! by the program. They start in the background, when the runtime is created. Their tools are called
//! `server__tool`, and approvals, hooks and [`Runtime::set_tools`] treat them like all others. The first prompt waits
//! 100 ms for them at most; what is missing by then is named in an [`AgentEvent::Notice`], and joins when it is
//! ready. [`Runtime::mcp`] has their states, prompts and resources, and [`Runtime::next_mcp_change`] reports
//! changes. Many tools are not declared: the model finds them with `tool_search`.
//!
//! A tool may ask the user something: [`AgentEvent::QuestionAsked`], answered by
//! [`Runtime::answer_question`]. Until [`Runtime::accept_questions`] is called, questions are declined.
//!
//! ```
//! use zot_sdk::mcp::{Given, ProjectServers};
//! use zot_sdk::{Config, McpChoice};
//!
//! let config = Config {
//!     mcp: McpChoice {
//!         user: true,
//!         project: ProjectServers::IfApproved,
//!         given: vec![Given::Json(
//!             r#"{"mcpServers": {"time": {"command": "uvx", "args": ["mcp-server-time"]}}}"#.to_owned(),
//!         )],
//!         ..McpChoice::default()
//!     },
//!     ..Config::default()
//! };
//! ```
//!
//! Runtimes of one executor share their servers if they share a [`McpChoice::pool`].
//!
//! # System prompt and project files
//!
//! [`Config::system_prompt`] replaces the built-in system prompt or adds to it. Files of the project
//! (instructions, skills, prompt templates) are read only if [`Config::context`] asks for them.
//! [`Runtime::context`] lists all parts with their cost.
//!
//! # Continuing elsewhere
//!
//! [`Runtime::full_messages`] and [`Runtime::set_messages`] carry a complete conversation to another
//! runtime or process; [`Config::session`] keeps it in a session file instead, which `zot` and other
//! runtimes can resume. Programs with many runtimes should share one [`HttpClient`].
//!
//! # Beyond a runtime
//!
//! Each subcommand of `zot` has a module with its operations: [`sessions`], [`configuration`],
//! [`credentials`] and [`login`], [`models`], [`context`], [`skills`], [`extensions`], [`mcp`],
//! [`recordings`], [`sandbox`], [`doctor`]. They take a [`Workspace`], which names the directories to work on. [`conversation`] has the
//! types of a transcript, [`wire`] those of the pipe.
//! `examples/sdk` has whole programs; `docs/embedding.md` covers other languages.
#![warn(missing_docs)]

mod alternatives;
mod assembly;
mod causes;
mod config;
pub mod configuration;
pub mod context;
pub mod conversation;
pub mod credentials;
pub mod doctor;
pub mod extensions;
mod full;
mod function_tool;
mod hooks;
mod hosting;
mod known_secrets;
mod live_models;
mod log_reader;
pub mod login;
pub mod mcp;
pub mod models;
mod persistence;
pub mod recordings;
mod runtime;
pub mod sandbox;
mod server_prompts;
mod servers;
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
    Config, ContextSearch, ExtensionSearch, McpChoice, ModelChoice, Persistence, PreferredModel,
    Recording, Replay, Resumption, SandboxChoice, SessionChoice, SkillSearch, SystemPrompt,
    ToolChoice, ToolSelection,
};
pub use full::InvalidMessage;
pub use function_tool::{FunctionTool, IntoToolOutput, InvalidTool, ToolContext, TypedTool};
pub use hosting::PanelAction;
pub use known_secrets::{launch_rules, withheld_variables};
pub use runtime::{
    Busy, ClearError, McpLoginError, McpReloadError, ModelChangeError, ReloadFailure, Runtime,
    SetMessagesError, ToolChangeError, VERSION,
};
pub use stream::EventStream;
pub use workspace::Workspace;
pub use zot_agent::{
    ApprovalPolicy, ApprovalScope, AtStepLimit, Budget, Decision, Hooks, JournalError,
    MessageVerdict, NotAsked, NotWaiting, Remember, SteerError, StepLimit, ToolVerdict,
    TurnVerdict, Verdict,
};
pub use zot_conversation::{
    AgentEvent, Answer, Arguments, BoxFuture, ErrorCode, ErrorReport, Image, JsonObject,
    NotAnObject, Progress, Question, QuestionId, QuestionKind, Questions, ReasoningEffort, Tool,
    ToolCall, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput, TurnStop,
};
pub use zot_extension_host::{InvokeError, Notice as ExtensionNotice, ReloadError, RequestError};
pub use zot_provider::HttpClient;
pub use zot_provider::catalog::{OpenAiWire, ToolDialect};
pub use zot_session::{Durability, Replica};
