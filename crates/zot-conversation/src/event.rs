//! What an agent reports while it works.

use std::sync::Arc;

use crate::{Message, ModelErrorKind, ToolCall, ToolCallId, ToolResult, Usage};

/// A fact about a running prompt or compaction. Their order is part of the contract:
///
/// `UserMessage`, then per model call `TurnStarted`, `AssistantStarted`, deltas, `UsageReported`,
/// `AssistantMessage`, `ToolCallRequested`…, `TurnEnded`, then per tool `ToolProgress`…,
/// `ToolFinished`; at last one `Done`.
#[derive(Debug, Clone)]
pub enum AgentEvent {
    UserMessage(Arc<Message>),
    TurnStarted {
        step: u32,
    },
    AssistantStarted,
    TextDelta(String),
    ThinkingDelta(String),
    ToolUseStarted {
        id: ToolCallId,
        name: String,
    },
    ToolUseArguments {
        id: ToolCallId,
        delta: String,
    },
    ToolUseEnded {
        id: ToolCallId,
    },
    UsageReported {
        turn: Usage,
        cumulative: Usage,
    },
    AssistantMessage(Arc<Message>),
    ToolCallRequested(ToolCall),
    TurnEnded {
        stop: TurnStop,
        error: Option<String>,
    },
    ToolProgress {
        id: ToolCallId,
        text: String,
    },
    ToolFinished(ToolResult),
    Failed(ErrorReport),
    CompactionFinished {
        summary: String,
    },
    Done,
}

/// How one model call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnStop {
    End,
    ToolUse,
    Length,
    Error,
    Aborted,
}

impl TurnStop {
    /// The word the wire uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::End => "end",
            Self::ToolUse => "tool_use",
            Self::Length => "length",
            Self::Error => "error",
            Self::Aborted => "aborted",
        }
    }
}

/// An error that people and programs are told about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReport {
    pub message: String,
    /// Set when a model call failed.
    pub model: Option<ModelErrorKind>,
}
