//! What an agent reports while it works.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    ContentBlock, ErrorReport, HostContact, Message, Question, QuestionId, ToolCall, ToolCallId,
    ToolOrigin, ToolResult, Usage,
};

/// A fact about a running prompt or compaction. Their order is part of the contract:
///
/// `UserMessage`, then per model call `TurnStarted`, `AssistantStarted`, deltas, `UsageReported`,
/// `AssistantMessage`, `ToolCallRequested`…, `TurnEnded`, then per tool `ToolProgress`…,
/// `ToolFinished`; finally one `Done`. After `FellBack` a turn continues with `AssistantStarted`,
/// preceded by a `UserMessage` when the other model has to continue an incomplete message.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    UserMessage(Arc<Message>),
    TurnStarted {
        step: u32,
    },
    /// A request failed and is sent again after `wait`; before `AssistantStarted`.
    Retrying {
        failures: u32,
        wait: Duration,
        error: ErrorReport,
    },
    AssistantStarted,
    /// Something the user should know about the request, after `AssistantStarted`.
    Notice(String),
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
    /// The prompt has made as many model calls as allowed and waits for someone to allow more.
    StepLimitReached {
        limit: u64,
    },
    /// A call waits for someone's permission.
    ConfirmationRequested {
        call: ToolCall,
        /// What the call would do, if its tool can predict it.
        preview: Option<String>,
    },
    /// A running tool waits for someone's answer, until `ToolFinished` at the latest.
    QuestionAsked {
        id: QuestionId,
        call: ToolCallId,
        question: Question,
    },
    ToolProgress {
        id: ToolCallId,
        text: String,
    },
    ToolFinished {
        result: ToolResult,
        /// The extension or MCP server that ran the call, if any.
        origin: Option<ToolOrigin>,
        /// Hosts that the call contacted, as far as a sandbox knows them.
        contacts: Vec<HostContact>,
    },
    /// A model failed, and another continues the turn.
    FellBack {
        /// Provider and model, for example `openai/gpt-5`.
        from: String,
        to: String,
        error: ErrorReport,
    },
    Failed(ErrorReport),
    /// The transcript is being summarised, within a prompt or on request.
    CompactionStarted,
    CompactionFinished {
        summary: String,
    },
    /// A steering message that was not delivered before the prompt ended.
    SteeringDropped(Vec<ContentBlock>),
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
    /// Returns the name on the wire.
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
