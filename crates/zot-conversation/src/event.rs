//! What an agent reports while it works.

use std::sync::Arc;
use std::time::Duration;

use crate::{
    ContentBlock, Message, ModelError, ModelErrorKind, ToolCall, ToolCallId, ToolOrigin,
    ToolResult, Usage,
};

/// A fact about a running prompt or compaction. Their order is part of the contract:
///
/// `UserMessage`, then per model call `TurnStarted`, `AssistantStarted`, deltas, `UsageReported`,
/// `AssistantMessage`, `ToolCallRequested`…, `TurnEnded`, then per tool `ToolProgress`…,
/// `ToolFinished`; at last one `Done`. After `FellBack` a turn goes on with `AssistantStarted`, or
/// first with a `UserMessage` when the other model has to be told where to go on.
#[derive(Debug, Clone, PartialEq)]
pub enum AgentEvent {
    UserMessage(Arc<Message>),
    TurnStarted {
        step: u32,
    },
    /// A model did not take the request, which is sent again after `wait`; before `AssistantStarted`.
    Retrying {
        failures: u32,
        wait: Duration,
        reason: String,
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
    /// The prompt has taken as many model calls as were allowed, and waits for someone to allow more.
    StepLimitReached {
        limit: u64,
    },
    /// A call waits for someone's permission.
    ConfirmationRequested {
        call: ToolCall,
        /// What the call would do, as far as its tool can tell beforehand.
        preview: Option<String>,
    },
    ToolProgress {
        id: ToolCallId,
        text: String,
    },
    ToolFinished {
        result: ToolResult,
        /// Who ran the call, when it was not the agent itself.
        origin: Option<ToolOrigin>,
    },
    /// A model failed, and another goes on with the turn.
    FellBack {
        /// Provider and model, as `openai/gpt-5`.
        from: String,
        to: String,
        error: ErrorReport,
    },
    Failed(ErrorReport),
    /// The transcript is being summarised, within a prompt or because someone asked for it.
    CompactionStarted,
    CompactionFinished {
        summary: String,
    },
    /// A steering message that found no place before the prompt ended.
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
    pub code: ErrorCode,
    pub message: String,
    /// When trying again may help.
    pub retry_after: Option<Duration>,
    /// The provider that failed, if it was one.
    pub provider: Option<String>,
    /// Other providers that have a credential and may do better.
    pub alternatives: Vec<String>,
}

impl ErrorReport {
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            retry_after: None,
            provider: None,
            alternatives: Vec::new(),
        }
    }

    /// An error of a provider.
    pub fn of_provider(error: ModelError, provider: &str) -> Self {
        Self {
            provider: Some(provider.to_owned()),
            ..Self::from(error)
        }
    }
}

impl From<ModelError> for ErrorReport {
    fn from(error: ModelError) -> Self {
        Self {
            code: error.kind.into(),
            retry_after: error.retry_after,
            message: error.message,
            provider: None,
            alternatives: Vec::new(),
        }
    }
}

/// What kind of error happened, in words that do not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// The credential is missing or refused.
    Unauthorized,
    RateLimited,
    /// The account has no credit or quota left.
    InsufficientQuota,
    ContextOverflow,
    /// The provider refuses the request as it is.
    InvalidRequest,
    /// The provider withheld the answer.
    Refused,
    Unavailable,
    /// The provider could not be reached.
    Connection,
    /// The answer broke off or made no sense.
    Stream,
    MaxSteps,
    /// A limit on money, tokens, steps or time was reached.
    Budget,
    /// No summary came of a compaction.
    Compaction,
    /// The transcript is too short to be compacted.
    NothingToCompact,
    /// The session file could not be written.
    Session,
    /// An extension that must run is not running.
    Extension,
}

impl ErrorCode {
    /// Whether another provider may do better with the same request.
    pub fn is_recoverable(self) -> bool {
        matches!(
            self,
            Self::Unauthorized
                | Self::RateLimited
                | Self::InsufficientQuota
                | Self::Unavailable
                | Self::Connection
                | Self::Stream
        )
    }

    /// The word the wire uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::InsufficientQuota => "insufficient_quota",
            Self::ContextOverflow => "context_overflow",
            Self::InvalidRequest => "invalid_request",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Connection => "connection",
            Self::Stream => "stream",
            Self::MaxSteps => "max_steps",
            Self::Budget => "budget",
            Self::Compaction | Self::NothingToCompact => "compaction",
            Self::Session => "session",
            Self::Extension => "extension",
        }
    }
}

impl From<ModelErrorKind> for ErrorCode {
    fn from(kind: ModelErrorKind) -> Self {
        match kind {
            ModelErrorKind::Unauthorized => Self::Unauthorized,
            ModelErrorKind::RateLimited => Self::RateLimited,
            ModelErrorKind::InsufficientQuota => Self::InsufficientQuota,
            ModelErrorKind::ContextOverflow => Self::ContextOverflow,
            ModelErrorKind::Invalid => Self::InvalidRequest,
            ModelErrorKind::Refused => Self::Refused,
            ModelErrorKind::Unavailable => Self::Unavailable,
            ModelErrorKind::Connection => Self::Connection,
            ModelErrorKind::Stream => Self::Stream,
        }
    }
}
