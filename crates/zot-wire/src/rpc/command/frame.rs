//! Reads commands from lines.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{AnswerCommand, Command, ConfirmCommand, PromptCommand, SteerCommand};
use crate::rpc::SetSandboxCommand;
use crate::{Fields, FieldsError, RawJson};

/// What every command may have.
const FIELDS_OF_EVERY_COMMAND: [&str; 2] = ["type", "id"];

const SANDBOX_FIELDS: [&str; 11] = [
    "level",
    "read",
    "write",
    "run",
    "connect",
    "unix_sockets",
    "environment",
    "memory_mib",
    "processes",
    "processor_seconds",
    "open_files",
];

/// How much of an unknown field's name an error repeats.
const SHOWN_CHARACTERS: usize = 80;

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
                    CommandError::Missing { .. }
                    | CommandError::UnknownField { .. }
                    | CommandError::Field { .. } => "invalid_argument",
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
    #[error("unknown field {field:?}; known: {known}")]
    UnknownField { field: String, known: String },
    #[error("{field}: {}", without_position(source))]
    Field {
        field: &'static str,
        source: serde_json::Error,
    },
}

/// Returns the message without the line and the column: they are those of the field, which the sender would
/// take for those of the line.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
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

/// Refuses fields that neither `known` nor every command has.
fn only(fields: &Fields, known: &[&str]) -> Result<(), CommandError> {
    let is_known = |name: &str| {
        let mut names = known.iter().chain(&FIELDS_OF_EVERY_COMMAND);
        names.any(|known| known.eq_ignore_ascii_case(name))
    };
    match fields.names().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(CommandError::UnknownField {
            field: name.chars().take(SHOWN_CHARACTERS).collect(),
            known: known.join(", "),
        }),
    }
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
        // Unlike in other commands: a misspelt restriction would restrict nothing.
        only(fields, &SANDBOX_FIELDS)?;
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
