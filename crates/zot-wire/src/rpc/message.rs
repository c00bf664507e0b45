//! The transcript as clients see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RawJson;

/// One message of the transcript.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    pub role: Role,
    pub content: Vec<ContentBlock>,
    /// RFC 3339.
    pub time: String,
}

/// Who a message comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    User,
    Assistant,
    /// The results of one batch of tool calls.
    Tool,
}

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ContentBlock {
    Text {
        text: String,
    },
    /// An image, reported by its size to keep dumps small.
    Image {
        mime_type: String,
        bytes: u64,
    },
    ToolCall {
        id: String,
        name: String,
        args: RawJson,
    },
    ToolResult {
        call_id: String,
        is_error: bool,
        content: Vec<ContentBlock>,
    },
}
