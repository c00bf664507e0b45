//! The transcript with everything needed to continue elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Role;
use crate::RawJson;

/// One message, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FullMessage {
    pub role: Role,
    pub content: Vec<FullBlock>,
    /// RFC 3339; if omitted, the time of the restore.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
}

/// One part of a message, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FullBlock {
    Text {
        text: String,
    },
    Image {
        mime_type: String,
        /// The file's bytes in base64.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        data: Option<String>,
    },
    /// The model's reasoning, with the data its provider needs to accept it again.
    Reasoning {
        provider: String,
        #[serde(default)]
        text: String,
        /// Other data the provider requires, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encrypted: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Digest of the conversation before it. Some providers accept the block only after that conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
    ToolCall {
        id: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<RawJson>,
        /// The exact text the model wrote. It takes precedence over `args`: the provider's prompt cache only
        /// hits when the same bytes are sent again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_text: Option<String>,
    },
    ToolResult {
        call_id: String,
        #[serde(default)]
        is_error: bool,
        content: Vec<FullBlock>,
    },
}
