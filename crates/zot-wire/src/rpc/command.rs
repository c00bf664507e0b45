//! Commands from the client.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{FullMessage, SetSandboxCommand};
use crate::{Fields, FieldsError, RawJson};

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

/// Correlates a response with its command: any JSON string or number, echoed unchanged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RequestId(RawJson);

impl RequestId {
    /// A string id.
    pub fn text(id: &str) -> Option<Self> {
        let raw = RawJson::try_from(serde_json::Value::from(id).to_string()).ok()?;
        Some(Self(raw))
    }

    /// How many bytes it takes on a line.
    pub fn length(&self) -> usize {
        self.0.get().len()
    }

    /// `null` and `""` count as no id.
    fn from_raw(raw: &RawValue) -> Result<Option<Self>, &'static str> {
        match raw.get().as_bytes() {
            b"\"\"" => Ok(None),
            [b'"' | b'-' | b'0'..=b'9', ..] => Ok(Some(Self(raw.into()))),
            _ => Err("id must be a string or a number"),
        }
    }
}

impl JsonSchema for RequestId {
    fn schema_name() -> Cow<'static, str> {
        "RequestId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["string", "number"] })
    }
}

/// A command with the id its response must echo.
#[derive(Debug, Clone, PartialEq)]
pub struct CommandFrame {
    pub id: Option<RequestId>,
    pub command: Command,
}

/// A line that is not a command, with the fields of its response.
#[derive(Debug, Clone, PartialEq)]
pub struct RejectedLine {
    pub id: Option<RequestId>,
    /// The command's name, unchanged; empty if the line has none.
    pub command: String,
    pub code: &'static str,
    pub error: String,
}

impl CommandFrame {
    /// Reads one line.
    pub fn parse(line: &[u8]) -> Result<Self, RejectedLine> {
        let fields = Fields::parse(line).map_err(|error| {
            RejectedLine::malformed(match error {
                FieldsError::NotUtf8(_) => error.to_string(),
                FieldsError::NotJson(error) => format!("malformed json: {error}"),
            })
        })?;
        let name: String = fields.get("type").map_err(|_| {
            RejectedLine::malformed("malformed json: type must be a string".to_owned())
        })?;
        let id = match fields.raw("id").map(RequestId::from_raw) {
            None => None,
            Some(Ok(id)) => id,
            Some(Err(error)) => return Err(RejectedLine::malformed(error.to_owned())),
        };
        match Command::from_fields(&name, &fields) {
            Ok(command) => Ok(Self { id, command }),
            Err(error) => Err(RejectedLine {
                id,
                code: match error {
                    CommandError::Unknown => "unknown_command",
                    CommandError::Missing { .. } | CommandError::Field { .. } => "invalid_argument",
                },
                error: error.to_string(),
                command: name,
            }),
        }
    }
}

/// Why a line's fields are not a command.
#[derive(Debug, thiserror::Error)]
enum CommandError {
    #[error("unknown command")]
    Unknown,
    #[error("{field} is missing")]
    Missing { field: &'static str },
    #[error("{field}: {source}")]
    Field {
        field: &'static str,
        source: serde_json::Error,
    },
}

/// Decodes a required field.
fn required<T: DeserializeOwned + Default>(
    fields: &Fields,
    name: &'static str,
) -> Result<T, CommandError> {
    if fields.raw(name).is_none() {
        return Err(CommandError::Missing { field: name });
    }
    field(fields, name)
}

/// Decodes a field; the error names it.
fn field<T: DeserializeOwned + Default>(
    fields: &Fields,
    name: &'static str,
) -> Result<T, CommandError> {
    fields.get(name).map_err(|source| CommandError::Field {
        field: name,
        source,
    })
}

impl RejectedLine {
    fn malformed(error: String) -> Self {
        Self {
            id: None,
            command: String::new(),
            code: "malformed",
            error,
        }
    }
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

    fn from_fields(name: &str, fields: &Fields) -> Result<Self, CommandError> {
        Ok(match name {
            "hello" => Self::Hello {
                token: field(fields, "token")?,
                // The original accepts any hello.
                capabilities: field(fields, "capabilities").unwrap_or_default(),
            },
            "prompt" => Self::Prompt(PromptCommand::from_fields(fields)?),
            "abort" => Self::Abort,
            "compact" => Self::Compact,
            "get_state" => Self::GetState,
            "get_messages" => Self::GetMessages {
                full: field(fields, "full")?,
            },
            "set_messages" => Self::SetMessages {
                messages: required(fields, "messages")?,
                append: field(fields, "append")?,
            },
            "clear" => Self::Clear,
            "set_model" => Self::SetModel {
                model: field(fields, "model")?,
            },
            "get_models" => Self::GetModels,
            "set_reasoning" => Self::SetReasoning {
                effort: field(fields, "effort")?,
            },
            "set_tools" => Self::SetTools {
                tools: field(fields, "tools")?,
            },
            "set_sandbox" => Self::SetSandbox(SetSandboxCommand::from_fields(fields)?),
            "set_system_prompt" => Self::SetSystemPrompt {
                prompt: field(fields, "prompt")?,
            },
            "get_usage" => Self::GetUsage,
            "get_tools" => Self::GetTools,
            "get_mcp" => Self::GetMcp,
            "steer" => Self::Steer(SteerCommand::from_fields(fields)?),
            "confirm" => Self::Confirm(ConfirmCommand::from_fields(fields)?),
            "answer" => Self::Answer(AnswerCommand::from_fields(fields)?),
            "subscribe" => Self::Subscribe {
                events: field(fields, "events")?,
                details: field(fields, "details")?,
            },
            "get_commands" => Self::GetCommands,
            "invoke_command" => Self::InvokeCommand {
                name: required(fields, "name")?,
                args: field(fields, "args")?,
            },
            "reload_ext" => Self::ReloadExt,
            "panel_key" => Self::PanelKey {
                extension: required(fields, "extension")?,
                panel_id: required(fields, "panel_id")?,
                key: required(fields, "key")?,
                text: field(fields, "text")?,
            },
            "panel_resize" => Self::PanelResize {
                extension: required(fields, "extension")?,
                panel_id: required(fields, "panel_id")?,
                width: required(fields, "width")?,
                height: required(fields, "height")?,
            },
            "panel_close" => Self::PanelClose {
                extension: required(fields, "extension")?,
                panel_id: required(fields, "panel_id")?,
            },
            "ping" => Self::Ping,
            _ => return Err(CommandError::Unknown),
        })
    }
}

impl SetSandboxCommand {
    fn from_fields(fields: &Fields) -> Result<Self, CommandError> {
        Ok(Self {
            level: required(fields, "level")?,
            read: field(fields, "read")?,
            write: field(fields, "write")?,
            run: field(fields, "run")?,
            connect: field(fields, "connect")?,
            unix_sockets: field(fields, "unix_sockets")?,
            environment: field(fields, "environment")?,
            memory_mib: field(fields, "memory_mib")?,
            processes: field(fields, "processes")?,
            processor_seconds: field(fields, "processor_seconds")?,
            open_files: field(fields, "open_files")?,
        })
    }
}

impl PromptCommand {
    fn from_fields(fields: &Fields) -> Result<Self, CommandError> {
        Ok(Self {
            message: field(fields, "message")?,
            images: field(fields, "images")?,
            mentions: field(fields, "mentions")?,
            when_busy: field(fields, "when_busy")?,
            max_steps: field(fields, "max_steps")?,
            max_cost_usd: field(fields, "max_cost_usd")?,
            max_tokens: field(fields, "max_tokens")?,
            timeout_ms: field(fields, "timeout_ms")?,
        })
    }
}

impl SteerCommand {
    fn from_fields(fields: &Fields) -> Result<Self, CommandError> {
        Ok(Self {
            message: field(fields, "message")?,
            images: field(fields, "images")?,
            mentions: field(fields, "mentions")?,
        })
    }
}

impl ConfirmCommand {
    fn from_fields(fields: &Fields) -> Result<Self, CommandError> {
        Ok(Self {
            call_id: match fields.raw("call_id") {
                Some(_) => field(fields, "call_id")?,
                None => field(fields, "id")?,
            },
            allow: field(fields, "allow")?,
            reason: field(fields, "reason")?,
            remember: field(fields, "remember")?,
            args: field(fields, "args")?,
        })
    }
}

impl AnswerCommand {
    fn from_fields(fields: &Fields) -> Result<Self, CommandError> {
        Ok(Self {
            question_id: match fields.raw("question_id") {
                Some(_) => field(fields, "question_id")?,
                None => field(fields, "id")?,
            },
            action: required(fields, "action")?,
            content: field(fields, "content")?,
        })
    }
}
