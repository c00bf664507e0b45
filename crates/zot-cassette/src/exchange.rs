//! One line of a cassette: writes its end, and reads it back.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zot_conversation::{
    ModelError, ModelErrorKind, ModelEvent, Reasoning, StopReason, ToolCallId, Usage,
};

use super::conversations::Continues;
use super::error::LineProblem;
use super::redaction::Redactor;
use crate::json;

/// How an exchange ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending<'a> {
    /// The stream ended.
    Complete,
    /// The stream was dropped before its end.
    Aborted,
    Failed(&'a ModelError),
}

/// Appends everything after the events, the end of the line included.
pub(super) fn append_ending(
    line: &mut Vec<u8>,
    ending: Ending<'_>,
    duration_ms: u64,
    redactor: &Redactor,
) {
    let outcome = match ending {
        Ending::Complete => Outcome::Complete,
        Ending::Aborted => Outcome::Aborted,
        Ending::Failed(_) => Outcome::Error,
    };
    line.extend_from_slice(b",\"outcome\":");
    json::append(line, &outcome);
    if let Ending::Failed(error) = ending {
        line.extend_from_slice(b",\"error\":");
        json::append(
            line,
            &ErrorRecord {
                kind: error.kind.into(),
                message: redactor.apply(&error.to_string()),
                retry_after_ms: error.retry_after.map(milliseconds),
            },
        );
    }
    line.extend_from_slice(b",\"duration_ms\":");
    json::append(line, &duration_ms);
    line.extend_from_slice(b"}\n");
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    Complete,
    Aborted,
    Error,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ErrorRecord<'a> {
    pub(super) kind: ErrorKind,
    #[serde(borrow)]
    message: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ErrorKind {
    Unauthorized,
    RateLimited,
    InsufficientQuota,
    ContextOverflow,
    Invalid,
    Refused,
    Unavailable,
    Connection,
    Stream,
}

impl From<ModelErrorKind> for ErrorKind {
    fn from(kind: ModelErrorKind) -> Self {
        match kind {
            ModelErrorKind::Unauthorized => Self::Unauthorized,
            ModelErrorKind::RateLimited => Self::RateLimited,
            ModelErrorKind::InsufficientQuota => Self::InsufficientQuota,
            ModelErrorKind::ContextOverflow => Self::ContextOverflow,
            ModelErrorKind::Invalid => Self::Invalid,
            ModelErrorKind::Refused => Self::Refused,
            ModelErrorKind::Unavailable => Self::Unavailable,
            ModelErrorKind::Connection => Self::Connection,
            ModelErrorKind::Stream => Self::Stream,
        }
    }
}

impl ErrorKind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "unauthorized",
            Self::RateLimited => "rate_limited",
            Self::InsufficientQuota => "insufficient_quota",
            Self::ContextOverflow => "context_overflow",
            Self::Invalid => "invalid",
            Self::Refused => "refused",
            Self::Unavailable => "unavailable",
            Self::Connection => "connection",
            Self::Stream => "stream",
        }
    }
}

impl ErrorRecord<'_> {
    pub(super) fn to_error(&self) -> ModelError {
        let kind = match self.kind {
            ErrorKind::Unauthorized => ModelErrorKind::Unauthorized,
            ErrorKind::RateLimited => ModelErrorKind::RateLimited,
            ErrorKind::InsufficientQuota => ModelErrorKind::InsufficientQuota,
            ErrorKind::ContextOverflow => ModelErrorKind::ContextOverflow,
            ErrorKind::Invalid => ModelErrorKind::Invalid,
            ErrorKind::Refused => ModelErrorKind::Refused,
            ErrorKind::Unavailable => ModelErrorKind::Unavailable,
            ErrorKind::Connection => ModelErrorKind::Connection,
            ErrorKind::Stream => ModelErrorKind::Stream,
        };
        ModelError::new(kind, self.message.as_ref())
            .with_retry_after(self.retry_after_ms.map(Duration::from_millis))
    }
}

/// A line as it was read.
#[derive(Debug, Deserialize)]
pub(super) struct ExchangeLine<'a> {
    pub(super) exchange: usize,
    #[serde(borrow)]
    pub(super) request: RequestLine<'a>,
    pub(super) events: Vec<EventLine>,
    pub(super) outcome: Outcome,
    #[serde(borrow, default)]
    pub(super) error: Option<ErrorRecord<'a>>,
    #[serde(default)]
    pub(super) duration_ms: u64,
}

impl ExchangeLine<'_> {
    /// The error with which a failed exchange ended.
    pub(super) fn failure(&self) -> Result<Option<ModelError>, LineProblem> {
        match (self.outcome, &self.error) {
            (Outcome::Error, Some(error)) => Ok(Some(error.to_error())),
            (Outcome::Error, None) => Err(LineProblem::MissingError(self.exchange)),
            _ => Ok(None),
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RequestLine<'a> {
    #[serde(borrow, default)]
    pub(super) provider: Option<Cow<'a, str>>,
    #[serde(borrow)]
    pub(super) model: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(super) reasoning: Option<Cow<'a, str>>,
    pub(super) max_output: u64,
    #[serde(default)]
    pub(super) continues: Option<Continues>,
    #[serde(borrow, default)]
    pub(super) system: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    pub(super) tools: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(super) messages: Vec<&'a RawValue>,
}

/// One event, or several deltas that arrived together.
///
/// One struct with the fields of all kinds: with an enum tagged by `type`, serde would copy every text
/// twice.
#[derive(Debug, Deserialize)]
pub(super) struct EventLine {
    #[serde(default)]
    pub(super) ms: u64,
    #[serde(rename = "type")]
    kind: EventKind,
    #[serde(default)]
    deltas: Vec<String>,
    id: Option<String>,
    name: Option<String>,
    block: Option<ReasoningLine>,
    reason: Option<StopLine>,
    #[serde(default)]
    input: u64,
    #[serde(default)]
    output: u64,
    #[serde(default)]
    cache_read: u64,
    #[serde(default)]
    cache_write: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EventKind {
    Start,
    Text,
    Thinking,
    Reasoning,
    ToolCallStart,
    ToolCallArgs,
    ToolCallEnd,
    Usage,
    Stop,
}

#[derive(Debug, Deserialize)]
struct ReasoningLine {
    provider: String,
    #[serde(default)]
    text: String,
    details: Option<String>,
    signature: Option<String>,
    encrypted: Option<String>,
    id: Option<String>,
    prefix: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StopLine {
    End,
    ToolUse,
    Length,
    Refused,
}

impl StopLine {
    fn reason(self) -> StopReason {
        match self {
            Self::End => StopReason::End,
            Self::ToolUse => StopReason::ToolUse,
            Self::Length => StopReason::Length,
            Self::Refused => StopReason::Refused,
        }
    }
}

/// What an [`EventLine`] stands for.
pub(super) enum Played {
    One(ModelEvent),
    Deltas(DeltaKind, std::vec::IntoIter<String>),
}

#[derive(Debug, Clone)]
pub(super) enum DeltaKind {
    Text,
    Thinking,
    Arguments(ToolCallId),
}

impl DeltaKind {
    pub(super) fn event(&self, delta: String) -> ModelEvent {
        match self {
            Self::Text => ModelEvent::TextDelta(delta),
            Self::Thinking => ModelEvent::ThinkingDelta(delta),
            Self::Arguments(id) => ModelEvent::ToolCallArguments {
                id: id.clone(),
                delta,
            },
        }
    }
}

impl EventLine {
    /// Returns the events of this line; fails when a field is missing.
    pub(super) fn play(self, exchange: usize) -> Result<Played, LineProblem> {
        let missing = |kind, field| LineProblem::IncompleteEvent {
            exchange,
            kind,
            field,
        };
        let call_id =
            |id: Option<String>, kind| id.map(ToolCallId::from).ok_or_else(|| missing(kind, "id"));
        Ok(match self.kind {
            EventKind::Text => Played::Deltas(DeltaKind::Text, self.deltas.into_iter()),
            EventKind::Thinking => Played::Deltas(DeltaKind::Thinking, self.deltas.into_iter()),
            EventKind::ToolCallArgs => {
                let id = call_id(self.id, "tool_call_args")?;
                Played::Deltas(DeltaKind::Arguments(id), self.deltas.into_iter())
            }
            EventKind::Start => Played::One(ModelEvent::Start),
            EventKind::Reasoning => {
                let block = self.block.ok_or_else(|| missing("reasoning", "block"))?;
                Played::One(ModelEvent::Reasoning(Reasoning {
                    provider: block.provider,
                    text: block.text,
                    details: block.details,
                    signature: block.signature,
                    encrypted: block.encrypted,
                    id: block.id,
                    prefix: block.prefix,
                }))
            }
            EventKind::ToolCallStart => Played::One(ModelEvent::ToolCallStart {
                id: call_id(self.id, "tool_call_start")?,
                name: self
                    .name
                    .ok_or_else(|| missing("tool_call_start", "name"))?,
            }),
            EventKind::ToolCallEnd => Played::One(ModelEvent::ToolCallEnd {
                id: call_id(self.id, "tool_call_end")?,
            }),
            EventKind::Usage => Played::One(ModelEvent::Usage(Usage {
                input: self.input,
                output: self.output,
                cache_read: self.cache_read,
                cache_write: self.cache_write,
                cost_usd: 0.0,
            })),
            EventKind::Stop => {
                let reason = self.reason.ok_or_else(|| missing("stop", "reason"))?;
                Played::One(ModelEvent::Stop(reason.reason()))
            }
        })
    }
}
