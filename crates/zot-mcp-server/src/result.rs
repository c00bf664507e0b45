//! The result of a tool call.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zot_conversation::ContentBlock;
use zot_mcp::version::Era;
use zot_sdk::VERSION;

use crate::request::SERVER_KEY;

/// What a tool returns to the client.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallResult {
    pub(crate) content: Vec<Value>,
    /// The same for programs, as the tool's `outputSchema` describes it.
    pub(crate) structured: Option<Value>,
    pub(crate) is_error: bool,
}

impl CallResult {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![text_block(text)],
            structured: None,
            is_error: false,
        }
    }

    /// Returns a failure that the client's model can read.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// Returns the blocks of a tool of ours as those of the protocol.
    pub(crate) fn of_blocks(blocks: &[ContentBlock], is_error: bool) -> Self {
        let content = blocks.iter().filter_map(|block| match block {
            ContentBlock::Text(text) => Some(text_block(text)),
            ContentBlock::Image(image) => Some(json!({
                "type": "image",
                "data": STANDARD.encode(&image.data),
                "mimeType": image.mime_type,
            })),
            // Tools return text and images only.
            _ => None,
        });
        Self {
            content: content.collect(),
            structured: None,
            is_error,
        }
    }

    pub(crate) fn into_value(self) -> Value {
        let mut result = json!({"content": self.content, "isError": self.is_error});
        if let Some(structured) = self.structured {
            result["structuredContent"] = structured;
        }
        result
    }
}

fn text_block(text: impl Into<String>) -> Value {
    json!({"type": "text", "text": text.into()})
}

/// Returns the name and version of this server.
pub(crate) fn server_info() -> Value {
    json!({"name": "zot", "title": "zot", "version": VERSION})
}

/// Adds what every result has in its era.
pub(crate) fn finished(era: Era, mut result: Value) -> Value {
    if era == Era::Modern {
        if result.get("resultType").is_none() {
            result["resultType"] = "complete".into();
        }
        result["_meta"] = json!({ SERVER_KEY: server_info() });
    }
    result
}
