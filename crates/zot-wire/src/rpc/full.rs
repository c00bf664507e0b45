//! The transcript with everything needed to go on elsewhere.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Role;
use crate::RawJson;

/// One message, complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FullMessage {
    pub role: Role,
    pub content: Vec<FullBlock>,
    /// RFC 3339; the moment it is put back when left out.
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
    /// What the model thought, with what its provider needs to accept it back.
    Reasoning {
        provider: String,
        #[serde(default)]
        text: String,
        /// What else the provider wants back, as JSON.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        details: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        encrypted: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// Digest of the conversation before it. Some providers accept the block only behind that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prefix: Option<String>,
    },
    ToolCall {
        id: String,
        name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args: Option<RawJson>,
        /// The exact text the model wrote. It wins over `args`: the provider's prompt cache only
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
