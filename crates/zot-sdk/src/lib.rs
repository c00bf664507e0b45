//! The agent runtime as a library: the one API that every front end uses, ours included.
//!
//! A [`Runtime`] is a conversation with a model in a working directory. [`Runtime::prompt`] returns
//! the stream of [`Event`]s of one prompt; the serde form of every type that comes out is what
//! `zot rpc` writes on its pipe.

mod assembly;
mod config;
mod convert;
mod diagnosis;
mod full;
mod function_tool;
mod hooks;
mod hosting;
mod runtime;
mod stream;
mod system_prompt;
mod toolbox;

pub use assembly::{AssemblyError, UnknownTool};
pub use config::{Config, DEFAULT_MAX_STEPS, ExtensionSearch, Persistence, Replay, ToolSelection};
pub use diagnosis::{Diagnosis, diagnose, probe};
pub use full::InvalidMessage;
pub use function_tool::{FunctionTool, IntoToolOutput, InvalidTool, ToolContext, TypedTool};
pub use hosting::{ExtensionNotice, PanelAction};
pub use runtime::{
    Busy, ClearError, ModelChangeError, ReloadFailure, Runtime, SetMessagesError, ToolChangeError,
    VERSION,
};
pub use stream::EventStream;
pub use zot_agent::{
    ApprovalPolicy, ApprovalScope, Budget, Decision, Hooks, MessageVerdict, NotWaiting, Remember,
    SteerError, ToolVerdict, TurnVerdict, Verdict,
};
pub use zot_auth::zot_home;
pub use zot_conversation::{
    AgentEvent, Arguments, BoxFuture, Image, Progress, ReasoningEffort, Tool, ToolCall,
    ToolDefinition, ToolEffect, ToolInvocation, ToolOutput, ToolSet,
};
pub use zot_extension_host as extensions;
pub use zot_extension_host::{InvokeError, ReloadError, RequestError};
pub use zot_provider::cassette;
pub use zot_provider::catalog::{Catalog, CatalogError, ModelInfo, ToolDialect};
pub use zot_provider::network::{Plan, PlanError, ProbeStep};
pub use zot_wire::rpc::{
    CommandEntry, ContentBlock, CumulativeUsage, Event, ExtensionEntry, FullBlock, FullMessage,
    InvokedData, Message, ModelEntry, RepairReport, Role, StateData, ToolEntry, UsageData,
};
