//! Answers to commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CumulativeUsage, Message, RequestId};

/// The answer to one command.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename = "response")]
pub struct Response<T> {
    /// As it came; absent when the command had none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RequestId>,
    pub command: String,
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<T>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl<T> Response<T> {
    pub fn success(id: Option<RequestId>, command: &str, data: T) -> Self {
        Self {
            id,
            command: command.to_owned(),
            success: true,
            data: Some(data),
            error: None,
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
        }
    }

    pub fn failure(id: Option<RequestId>, command: &str, error: impl Into<String>) -> Self {
        Self {
            id,
            command: command.to_owned(),
            success: false,
            data: None,
            error: Some(error.into()),
        }
    }
}

/// `hello`: who answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HelloData {
    pub protocol_version: u32,
    pub version: String,
    pub provider: String,
    pub model: String,
}

/// `prompt` and `compact`: the work has begun.
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
}

/// `get_messages`: the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesData {
    pub messages: Vec<Message>,
}

/// `set_model`: the model now in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelData {
    pub model: String,
}

/// `get_models`: what the provider offers.
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
