//! Responses to commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CumulativeUsage, FullMessage, Message, RequestId, SandboxData};
use crate::RawJson;

/// The response to one command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "response")]
pub struct Response<T> {
    /// Echoed unchanged; absent if the command had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    pub command: String,
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// With `error`: a stable code for the kind of error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl<T> Response<T> {
    pub fn success(id: Option<RequestId>, command: &str, data: T) -> Self {
        Self {
            id,
            command: command.to_owned(),
            success: true,
            data: Some(data),
            error: None,
            code: None,
        }
    }
}

impl Response<()> {
    /// Success without data.
    pub fn acknowledged(id: Option<RequestId>, command: &str) -> Self {
        Self {
            id,
            command: command.to_owned(),
            success: true,
            data: None,
            error: None,
            code: None,
        }
    }

    pub fn failure(
        id: Option<RequestId>,
        command: &str,
        code: &str,
        error: impl Into<String>,
    ) -> Self {
        Self {
            id,
            command: command.to_owned(),
            success: false,
            data: None,
            error: Some(error.into()),
            code: Some(code.to_owned()),
        }
    }
}

/// `hello`: information about the server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HelloData {
    pub protocol_version: u32,
    pub version: String,
    pub provider: String,
    pub model: String,
    /// What this server supports beyond the original protocol.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// `prompt` and `compact`: the work has started.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StartedData {
    pub started: bool,
}

/// `ping`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PongData {
    pub pong: bool,
}

/// `get_state`: a snapshot of the runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StateData {
    pub provider: String,
    pub model: String,
    pub cwd: String,
    pub message_count: usize,
    pub busy: bool,
    pub usage: CumulativeUsage,
    /// Whether the built-in tools are confined to `cwd` (`--jail`); left out when not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub jailed: bool,
    /// What the built-in tools may do; left out when it is everything that the user may do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox: Option<SandboxData>,
    /// The session file of the conversation, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionData>,
}

/// The session of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionData {
    pub id: String,
    /// Absolute. The file is created with the first message.
    pub path: String,
}

/// `get_messages`: the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesData {
    pub messages: Vec<Message>,
}

/// `get_messages` with `full`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FullMessagesData {
    pub messages: Vec<FullMessage>,
}

/// `set_messages`: the number of messages, and what was repaired.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SetMessagesData {
    pub message_count: usize,
    pub repaired: RepairReport,
}

/// The repairs that make a transcript acceptable to providers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct RepairReport {
    /// Calls that got an error result because they had none.
    pub results_added: usize,
    /// Results dropped because they belong to no call.
    pub results_dropped: usize,
    /// Messages dropped because nothing was left in them.
    pub messages_dropped: usize,
}

/// `set_reasoning`: the effort now in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReasoningData {
    pub effort: Option<String>,
}

/// `set_tools` and `get_tools`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolsData {
    pub tools: Vec<ToolEntry>,
}

/// A tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolEntry {
    pub name: String,
    pub description: String,
    /// Its arguments, as a JSON Schema.
    pub parameters: RawJson,
    /// Whether the model has it.
    pub enabled: bool,
    /// The extension it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// The MCP server it belongs to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Whether the model has to find it with `tool_search` before it is declared.
    #[serde(default, skip_serializing_if = "is_false")]
    pub deferred: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// `get_usage`: the usage so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UsageData {
    pub total: CumulativeUsage,
    pub models: Vec<ModelUsage>,
    /// The latest model calls, oldest first.
    pub turns: Vec<TurnUsage>,
}

/// What one model used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    pub model: String,
    pub usage: CumulativeUsage,
}

/// What one model call used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TurnUsage {
    pub model: String,
    /// RFC 3339.
    pub time: String,
    pub usage: CumulativeUsage,
}

/// `steer`, and a `prompt` that was delivered as one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SteeredData {
    pub steered: bool,
}

/// `subscribe`: the types of events that are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SubscribedData {
    pub events: Vec<String>,
}

/// `set_model`: the model now in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelData {
    pub model: String,
}

/// `get_models`: the models of the provider.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelsData {
    pub models: Vec<ModelEntry>,
}

/// A model of the catalog.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    pub id: String,
    pub provider: String,
    pub context_window: u64,
    pub max_output: u64,
    pub reasoning: bool,
}
