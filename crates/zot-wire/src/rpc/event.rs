//! Events that the server sends while a prompt or compaction runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use super::{ContentBlock, McpServer};
use crate::RawJson;
use crate::extension::PanelContent;

/// An event. No event has an `id`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The prompt as it was added to the transcript.
    UserMessage {
        content: Vec<ContentBlock>,
        time: String,
    },
    /// One model call begins; `step` counts from 1 within a prompt.
    TurnStart { step: u32 },
    /// The model accepted the request.
    AssistantStart,
    /// A piece of the answer.
    TextDelta { delta: String },
    /// A piece of the model's thinking; only for clients that name it in `subscribe`.
    ThinkingDelta { delta: String },
    /// The request failed and is retried after `wait_ms`; only for clients that name it in `subscribe`.
    Retry {
        /// How many attempts have failed.
        failures: u32,
        wait_ms: u64,
        message: String,
    },
    /// The model begins to write a tool call.
    ToolUseStart { id: String, name: String },
    /// A piece of the call's arguments, as JSON text.
    ToolUseArgs { id: String, delta: String },
    /// The call's arguments are complete.
    ToolUseEnd { id: String },
    /// Tokens and cost of the model call that just ended, and of everything so far.
    Usage {
        input: u64,
        output: u64,
        cache_read: u64,
        cache_write: u64,
        #[serde(serialize_with = "serialize_cost")]
        cost_usd: f64,
        cumulative: CumulativeUsage,
    },
    /// The assistant's message as it was added to the transcript.
    AssistantMessage {
        content: Vec<ContentBlock>,
        time: String,
    },
    /// A call that is about to run.
    ToolCall {
        id: String,
        name: String,
        args: RawJson,
    },
    /// One model call ended. `stop` is `end`, `tool_use`, `length`, `error` or `aborted`.
    TurnEnd {
        stop: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Output of a tool that is still running.
    ToolProgress { id: String, text: String },
    /// A tool finished.
    ToolResult {
        id: String,
        is_error: bool,
        content: Vec<ContentBlock>,
        /// Hosts that the call contacted through the sandbox, or wanted to.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        network: Vec<NetworkContact>,
        /// The extension or MCP server of the tool; only for clients that subscribed with `details`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<ToolDetails>,
    },
    /// A call waits for a `confirm` command.
    ToolConfirm {
        id: String,
        name: String,
        args: RawJson,
        /// What the call would do: the command, or the diff.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        preview: Option<String>,
        /// How to respond: only in the first of these events, and only for a client that has not declared
        /// the capability.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        hint: Option<String>,
    },
    /// A running tool asks a person; only for clients that have announced that they answer. Answered by
    /// an `answer` command, and void after the call's `tool_result`.
    ToolQuestion {
        /// Names the question.
        id: String,
        /// The call that asks.
        call_id: String,
        /// Who asks, for example the name of an MCP server.
        origin: String,
        message: String,
        /// The form to fill in: a JSON Schema object whose properties are text, numbers, booleans and
        /// choices.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<RawJson>,
        /// The address to open instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        url: Option<String>,
    },
    /// A steering message that could not be delivered before the prompt ended.
    SteerDropped { content: Vec<ContentBlock> },
    /// A model failed, and another takes over until the prompt ends.
    Fallback {
        /// Provider and model, as `openai/gpt-5`.
        from: String,
        to: String,
        /// The error, as in `error`.
        message: String,
        code: String,
    },
    /// An error; the process continues.
    Error {
        message: String,
        /// A stable code for the kind of error; absent from older servers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// When a retry may succeed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
        /// The provider that failed, when one did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// Other providers with a credential, if one of them may succeed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        alternatives: Vec<String>,
    },
    /// An extension shows the user a message.
    ExtNotify {
        extension: String,
        /// `info`, `success`, `warn` or `error`; extensions may also send others, or none.
        level: String,
        message: String,
    },
    /// An extension's command shows a note, which is not part of the conversation.
    ExtDisplay { extension: String, text: String },
    /// An extension opens or redraws a panel.
    ExtPanel {
        extension: String,
        panel_id: String,
        #[serde(flatten)]
        content: PanelContent,
    },
    /// An extension closes a panel.
    ExtPanelClose { extension: String, panel_id: String },
    /// The state of an MCP server, or the number of its tools, prompts or resources, has changed. Also sent
    /// once for every server at the start.
    McpState(McpServer),
    /// A compaction finished.
    CompactDone { summary: String },
    /// The prompt is over, successfully or not.
    Done,
}

impl Event {
    /// The name of each type, as `subscribe` accepts it.
    pub const TYPES: [&'static str; 27] = [
        "user_message",
        "turn_start",
        "assistant_start",
        "text_delta",
        "thinking_delta",
        "retry",
        "tool_use_start",
        "tool_use_args",
        "tool_use_end",
        "usage",
        "assistant_message",
        "tool_call",
        "turn_end",
        "tool_progress",
        "tool_result",
        "tool_confirm",
        "tool_question",
        "steer_dropped",
        "fallback",
        "error",
        "ext_notify",
        "ext_display",
        "ext_panel",
        "ext_panel_close",
        "mcp_state",
        "compact_done",
        "done",
    ];

    /// The types that are sent only to clients that name them.
    pub const OPTIONAL_TYPES: [&'static str; 2] = ["thinking_delta", "retry"];

    /// The name of this event's type.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::UserMessage { .. } => "user_message",
            Self::TurnStart { .. } => "turn_start",
            Self::AssistantStart => "assistant_start",
            Self::TextDelta { .. } => "text_delta",
            Self::ThinkingDelta { .. } => "thinking_delta",
            Self::Retry { .. } => "retry",
            Self::ToolUseStart { .. } => "tool_use_start",
            Self::ToolUseArgs { .. } => "tool_use_args",
            Self::ToolUseEnd { .. } => "tool_use_end",
            Self::Usage { .. } => "usage",
            Self::AssistantMessage { .. } => "assistant_message",
            Self::ToolCall { .. } => "tool_call",
            Self::TurnEnd { .. } => "turn_end",
            Self::ToolProgress { .. } => "tool_progress",
            Self::ToolResult { .. } => "tool_result",
            Self::ToolConfirm { .. } => "tool_confirm",
            Self::ToolQuestion { .. } => "tool_question",
            Self::SteerDropped { .. } => "steer_dropped",
            Self::Fallback { .. } => "fallback",
            Self::Error { .. } => "error",
            Self::ExtNotify { .. } => "ext_notify",
            Self::ExtDisplay { .. } => "ext_display",
            Self::ExtPanel { .. } => "ext_panel",
            Self::ExtPanelClose { .. } => "ext_panel_close",
            Self::McpState(_) => "mcp_state",
            Self::CompactDone { .. } => "compact_done",
            Self::Done => "done",
        }
    }
}

/// A host that a command in a sandbox contacted, or wanted to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkContact {
    pub host: String,
    pub port: u16,
    /// Whether the sandbox let it through.
    pub allowed: bool,
}

/// Who ran a tool: an extension or an MCP server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDetails {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extension: Option<String>,
    /// The MCP server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The tool, by the name that the extension or the server uses.
    pub tool: String,
}

/// Tokens and cost since the process started.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct CumulativeUsage {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    #[serde(serialize_with = "serialize_cost")]
    pub cost_usd: f64,
}

/// Writes whole numbers without a fraction, as Go does: `0`, not `0.0`.
fn serialize_cost<S: Serializer>(cost: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if cost.fract() == 0.0 && cost.abs() < 1e15 {
        serializer.serialize_i64(*cost as i64)
    } else {
        serializer.serialize_f64(*cost)
    }
}
