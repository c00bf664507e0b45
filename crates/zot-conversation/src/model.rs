//! The model: responds to a conversation with a stream of events.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_core::Stream;

use crate::{Message, ModelError, Reasoning, ToolCallId, ToolDefinition, Usage};

/// A boxed future, for traits that are used as objects.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The response of a model as it arrives.
///
/// Dropping the stream at any point cancels the call: the connection is closed.
pub type ModelStream<'a> = Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send + 'a>>;

/// A model client.
///
/// A stream starts with [`ModelEvent::Start`] once the provider has accepted the request (after a
/// [`ModelEvent::Retrying`] for every attempt that failed), and is
/// complete only after [`ModelEvent::Stop`]. An error ends it; so does its end without `Stop`,
/// which clients must report as an error themselves. Usage may be reported several times: each
/// report replaces the one before.
pub trait Model: Send + Sync {
    /// Requests the next message. Nothing is sent before the stream is polled.
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a>;

    /// Returns whether images in tool results reach the model.
    fn tool_images(&self) -> ToolImages {
        ToolImages::Seen
    }
}

/// How images in tool results reach the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolImages {
    Seen,
    /// The wire has no field for them: they are repeated in a user message.
    NeedMirror,
}

/// A request to a model.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The model's id as its provider knows it.
    pub model: &'a str,
    pub system: &'a str,
    /// Already repaired: every tool call has its result, in order, and no result is an orphan.
    pub messages: &'a [Arc<Message>],
    pub tools: &'a [Arc<ToolDefinition>],
    pub reasoning: Option<ReasoningEffort>,
    /// The most tokens the response may have.
    pub max_output: u64,
    pub sampling: Sampling,
}

/// How the next token is chosen. Unset fields are left to the provider.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
}

/// How hard a reasoning model should think.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningEffort {
    /// Not at all, where the model allows that.
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl ReasoningEffort {
    /// All efforts, lowest first.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::Xhigh,
        Self::Max,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

/// A reasoning effort that zot does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown {name:?}; known: {}", ReasoningEffort::ALL.map(ReasoningEffort::as_str).join(", "))]
pub struct UnknownEffort {
    name: String,
}

impl FromStr for ReasoningEffort {
    type Err = UnknownEffort;

    /// Reads a name in upper or lower case; `off` is another name for `none`.
    fn from_str(name: &str) -> Result<Self, UnknownEffort> {
        if name.eq_ignore_ascii_case("off") {
            return Ok(Self::None);
        }
        let is_name = |effort: &Self| effort.as_str().eq_ignore_ascii_case(name);
        let effort = Self::ALL.into_iter().find(is_name);
        effort.ok_or_else(|| UnknownEffort {
            name: name.to_owned(),
        })
    }
}

impl fmt::Display for ReasoningEffort {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// One event of a model's response.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// The request failed and is sent again after `wait`; only before `Start`.
    Retrying {
        /// How many attempts have failed.
        failures: u32,
        wait: Duration,
        error: ModelError,
    },
    /// The provider accepted the request.
    Start,
    /// Something the user should know about the request, such as what was left out of it. Clients
    /// send it once.
    Notice(String),
    TextDelta(String),
    /// Readable thinking, for display only; the block itself follows as `Reasoning`.
    ThinkingDelta(String),
    /// A finished reasoning block, in order with the other content.
    Reasoning(Reasoning),
    ToolCallStart {
        id: ToolCallId,
        name: String,
    },
    ToolCallArguments {
        id: ToolCallId,
        delta: String,
    },
    ToolCallEnd {
        id: ToolCallId,
    },
    /// Counts so far for this call, without the cost: the caller knows the prices.
    Usage(Usage),
    Stop(StopReason),
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopReason {
    End,
    ToolUse,
    Length,
    /// The provider withheld the response (refusal, content filter).
    Refused,
}
