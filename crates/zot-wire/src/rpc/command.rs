//! Commands from the client.

mod frame;
#[cfg(test)]
mod tests;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FullMessage, SetSandboxCommand};
use crate::RawJson;

pub use frame::{CommandFrame, RejectedLine, RequestId};

/// A command of a client.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Introduces the client; required first, with the token, when `ZOTCORE_RPC_TOKEN` is set.
    Hello {
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
        /// What the client supports beyond the original protocol. `confirm`: it responds to
        /// `tool_confirm`. `questions`: it responds to `tool_question`. Others are ignored.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        capabilities: Vec<String>,
    },
    /// Runs the agent on a message.
    Prompt(PromptCommand),
    /// Cancels the running prompt or compaction.
    Abort,
    /// Summarises the transcript into one message.
    Compact,
    GetState,
    /// Returns the transcript; with `full`, everything needed to continue elsewhere.
    GetMessages {
        #[serde(skip_serializing_if = "is_false")]
        full: bool,
    },
    /// Restores a transcript, validated and repaired. `append` adds to the current one, for
    /// transcripts longer than a line may be.
    SetMessages {
        messages: Vec<FullMessage>,
        #[serde(skip_serializing_if = "is_false")]
        append: bool,
    },
    /// Drops the transcript.
    Clear,
    /// Switches to another model of the same provider.
    SetModel {
        model: String,
    },
    GetModels,
    /// Sets the reasoning effort; without `effort`, the provider's default.
    SetReasoning {
        #[serde(skip_serializing_if = "Option::is_none")]
        effort: Option<String>,
    },
    /// Gives the model exactly these tools; without `tools`, all of them. `server__*` stands for all tools of
    /// an MCP server.
    SetTools {
        #[serde(skip_serializing_if = "Option::is_none")]
        tools: Option<Vec<String>>,
    },
    /// Changes what the built-in tools may do, from the next call on.
    SetSandbox(SetSandboxCommand),
    /// Replaces the system prompt; without `prompt`, by the one the process started with.
    SetSystemPrompt {
        #[serde(skip_serializing_if = "Option::is_none")]
        prompt: Option<String>,
    },
    /// Returns the usage by model and by model call.
    GetUsage,
    /// Returns all tools, and which of them the model has.
    GetTools,
    /// Returns the MCP servers and their states.
    GetMcp,
    /// Adds a message to the running prompt.
    Steer(SteerCommand),
    /// Responds to a `tool_confirm` event.
    Confirm(ConfirmCommand),
    /// Responds to a `tool_question` event.
    Answer(AnswerCommand),
    /// Sends only events of these types from now on; without `events`, all of them.
    Subscribe {
        #[serde(skip_serializing_if = "Option::is_none")]
        events: Option<Vec<String>>,
        /// Also report which extension a `tool_result` comes from.
        #[serde(skip_serializing_if = "is_false")]
        details: bool,
    },
    /// Returns the slash commands of all extensions.
    GetCommands,
    /// Runs a slash command of an extension.
    InvokeCommand {
        name: String,
        /// The text after the command's name.
        #[serde(skip_serializing_if = "String::is_empty")]
        args: String,
    },
    /// Reloads all manifests and restarts every extension.
    ReloadExt,
    /// A key was pressed in a panel of an extension.
    PanelKey {
        extension: String,
        panel_id: String,
        key: String,
        /// The text that the key produces, if any.
        #[serde(skip_serializing_if = "String::is_empty")]
        text: String,
    },
    /// The size of a panel changed.
    PanelResize {
        extension: String,
        panel_id: String,
        width: u32,
        height: u32,
    },
    /// The user closed a panel.
    PanelClose {
        extension: String,
        panel_id: String,
    },
    Ping,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// A prompt: a text, images, or both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PromptCommand {
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageInput>,
    /// Attach the files and directories that the message mentions as `@path`.
    #[serde(skip_serializing_if = "is_false")]
    pub mentions: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when_busy: Option<WhenBusy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_steps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// What happens to a prompt that arrives while another is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WhenBusy {
    /// It waits for its turn.
    #[default]
    Queue,
    /// It is added to the running prompt.
    Steer,
    /// It is rejected.
    Reject,
}

/// A message for the running prompt.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct SteerCommand {
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageInput>,
    /// Attach the files and directories that the message mentions as `@path`.
    #[serde(skip_serializing_if = "is_false")]
    pub mentions: bool,
}

/// The response to a `tool_confirm` event.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ConfirmCommand {
    /// The id of the call, as in the event. May be omitted if the `id` of the command is the same.
    pub call_id: String,
    pub allow: bool,
    /// The reason for the model if the call is not allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remember: Option<RememberFor>,
    /// Other arguments to run the call with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub args: Option<RawJson>,
}

/// What else a confirmation is valid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RememberFor {
    #[default]
    Call,
    /// Every later call of the same tool.
    Tool,
    /// Every later call.
    Session,
}

/// The response to a `tool_question` event.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AnswerCommand {
    /// The id of the question, as in the event. May be omitted if the `id` of the command is the same.
    pub question_id: String,
    pub action: AnswerAction,
    /// The fields of the form, with `accept`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<RawJson>,
}

/// What a person does with a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerAction {
    Accept,
    /// The person does not want to answer.
    Decline,
    /// The person dismissed the question.
    #[default]
    Cancel,
}

/// An image that comes with a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageInput {
    pub mime_type: String,
    /// The file's bytes in base64.
    pub data: String,
}

impl Command {
    /// The name on the wire.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello { .. } => "hello",
            Self::Prompt(_) => "prompt",
            Self::Abort => "abort",
            Self::Compact => "compact",
            Self::GetState => "get_state",
            Self::GetMessages { .. } => "get_messages",
            Self::SetMessages { .. } => "set_messages",
            Self::Clear => "clear",
            Self::SetModel { .. } => "set_model",
            Self::GetModels => "get_models",
            Self::SetReasoning { .. } => "set_reasoning",
            Self::SetTools { .. } => "set_tools",
            Self::SetSandbox(_) => "set_sandbox",
            Self::SetSystemPrompt { .. } => "set_system_prompt",
            Self::GetUsage => "get_usage",
            Self::GetTools => "get_tools",
            Self::GetMcp => "get_mcp",
            Self::Steer(_) => "steer",
            Self::Confirm(_) => "confirm",
            Self::Answer(_) => "answer",
            Self::Subscribe { .. } => "subscribe",
            Self::GetCommands => "get_commands",
            Self::InvokeCommand { .. } => "invoke_command",
            Self::ReloadExt => "reload_ext",
            Self::PanelKey { .. } => "panel_key",
            Self::PanelResize { .. } => "panel_resize",
            Self::PanelClose { .. } => "panel_close",
            Self::Ping => "ping",
        }
    }
}
