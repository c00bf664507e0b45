//! Commands from the client.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{Fields, FieldsError, RawJson};

/// What a client can ask for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Command {
    /// Introduces the client; required first, with the token, when `ZOTCORE_RPC_TOKEN` is set.
    Hello {
        #[serde(skip_serializing_if = "Option::is_none")]
        token: Option<String>,
    },
    /// Runs the agent on a message.
    Prompt(PromptCommand),
    /// Cancels the running prompt or compaction.
    Abort,
    /// Summarises the transcript into one message.
    Compact,
    GetState,
    GetMessages,
    /// Drops the transcript.
    Clear,
    /// Switches to another model of the same provider.
    SetModel {
        model: String,
    },
    GetModels,
    Ping,
}

/// A prompt: a text, pictures, or both.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PromptCommand {
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageInput>,
}

/// A picture that comes with a prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImageInput {
    pub mime_type: String,
    /// The file's bytes in base64.
    pub data: String,
}

/// What correlates a response with its command: any JSON string or number, echoed as it came.
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

/// A line that is no command, with what its response needs.
#[derive(Debug, Clone, PartialEq)]
pub struct RequestRefused {
    pub id: Option<RequestId>,
    /// The command's name as it came; empty when the line has none.
    pub command: String,
    pub error: String,
}

impl CommandFrame {
    /// Reads one line.
    pub fn parse(line: &[u8]) -> Result<Self, RequestRefused> {
        let fields = Fields::parse(line).map_err(|error| {
            RequestRefused::malformed(match error {
                FieldsError::NotUtf8(_) => error.to_string(),
                FieldsError::NotJson(error) => format!("malformed json: {error}"),
            })
        })?;
        let name: String = fields.get("type").map_err(|_| {
            RequestRefused::malformed("malformed json: type must be a string".to_owned())
        })?;
        let id = match fields.raw("id").map(RequestId::from_raw) {
            None => None,
            Some(Ok(id)) => id,
            Some(Err(error)) => return Err(RequestRefused::malformed(error.to_owned())),
        };
        match Command::from_fields(&name, &fields) {
            Ok(command) => Ok(Self { id, command }),
            Err(error) => Err(RequestRefused {
                id,
                command: name,
                error,
            }),
        }
    }
}

impl RequestRefused {
    fn malformed(error: String) -> Self {
        Self {
            id: None,
            command: String::new(),
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
            Self::GetMessages => "get_messages",
            Self::Clear => "clear",
            Self::SetModel { .. } => "set_model",
            Self::GetModels => "get_models",
            Self::Ping => "ping",
        }
    }

    fn from_fields(name: &str, fields: &Fields) -> Result<Self, String> {
        let in_field = |field: &'static str| move |error| format!("{field}: {error}");
        Ok(match name {
            "hello" => Self::Hello {
                token: fields.get("token").map_err(in_field("token"))?,
            },
            "prompt" => Self::Prompt(PromptCommand {
                message: fields.get("message").map_err(in_field("message"))?,
                images: fields.get("images").map_err(in_field("images"))?,
            }),
            "abort" => Self::Abort,
            "compact" => Self::Compact,
            "get_state" => Self::GetState,
            "get_messages" => Self::GetMessages,
            "clear" => Self::Clear,
            "set_model" => Self::SetModel {
                model: fields.get("model").map_err(in_field("model"))?,
            },
            "get_models" => Self::GetModels,
            "ping" => Self::Ping,
            _ => return Err("unknown command".to_owned()),
        })
    }
}
