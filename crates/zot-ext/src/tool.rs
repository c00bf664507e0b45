//! The result of a tool call.

use std::fmt::Display;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zot_wire::extension as wire;
use zot_wire::extension::ResultBlock;

use crate::handler::describe;

/// What a tool call produced: blocks of text and images, or a failure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolResult {
    blocks: Vec<ResultBlock>,
    is_error: bool,
}

impl ToolResult {
    /// Returns a result without blocks; add some with [`with_text`](Self::with_text) and
    /// [`with_image`](Self::with_image).
    pub fn new() -> Self {
        Self::default()
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::new().with_text(text)
    }

    /// Returns an image, such as `("image/png", &bytes)`.
    pub fn image(mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        Self::new().with_image(mime_type, bytes)
    }

    /// Returns a failure; the model reads the message.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(message)
        }
    }

    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.blocks.push(ResultBlock {
            kind: "text".to_owned(),
            text: text.into(),
            ..ResultBlock::default()
        });
        self
    }

    #[must_use]
    pub fn with_image(mut self, mime_type: impl Into<String>, bytes: &[u8]) -> Self {
        self.blocks.push(ResultBlock {
            kind: "image".to_owned(),
            mime_type: mime_type.into(),
            data: STANDARD.encode(bytes),
            ..ResultBlock::default()
        });
        self
    }

    pub fn is_error(&self) -> bool {
        self.is_error
    }

    pub fn blocks(&self) -> &[ResultBlock] {
        &self.blocks
    }

    /// Returns the text of all blocks, one after another.
    pub fn to_text(&self) -> String {
        let texts: Vec<&str> = self
            .blocks
            .iter()
            .filter(|block| block.kind == "text")
            .map(|block| block.text.as_str())
            .collect();
        texts.join("\n")
    }

    pub(crate) fn into_wire(self, id: String) -> wire::ToolResult {
        wire::ToolResult {
            id,
            content: self.blocks,
            is_error: self.is_error,
        }
    }

    pub(crate) fn from_wire(result: wire::ToolResult) -> Self {
        Self {
            blocks: result.content,
            is_error: result.is_error,
        }
    }
}

/// What a tool's handler may return: text, JSON, a [`ToolResult`], nothing, or a `Result` of one
/// of them. An `Err` is a failed call, and the model reads the message.
pub trait IntoToolResult {
    fn into_tool_result(self) -> ToolResult;
}

impl IntoToolResult for ToolResult {
    fn into_tool_result(self) -> ToolResult {
        self
    }
}

impl IntoToolResult for String {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::text(self)
    }
}

impl IntoToolResult for &str {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::text(self)
    }
}

impl IntoToolResult for Value {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::text(self.to_string())
    }
}

impl IntoToolResult for () {
    fn into_tool_result(self) -> ToolResult {
        ToolResult::text("done")
    }
}

impl<T: IntoToolResult, E: Display> IntoToolResult for Result<T, E> {
    fn into_tool_result(self) -> ToolResult {
        match self {
            Ok(value) => value.into_tool_result(),
            Err(error) => ToolResult::error(describe(error)),
        }
    }
}
