//! Events of an agent, as extensions see them.

use serde::{Deserialize, Serialize};

use super::{FrameError, FrameReader};
use crate::RawJson;

/// The payload of `event` and `event_intercept`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum LifecycleEvent {
    /// The extension is now part of the agent.
    SessionStart,
    /// A model call begins; `step` counts from 1 within a prompt.
    TurnStart { step: u32 },
    /// A model call ended. `stop` is `end`, `tool_use`, `length`, `error` or `aborted`.
    TurnEnd {
        stop: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// The model called a tool.
    ToolCall {
        tool_id: String,
        tool_name: String,
        tool_args: RawJson,
    },
    /// The model wrote a message; without text if it only called tools.
    AssistantMessage {
        #[serde(skip_serializing_if = "String::is_empty")]
        text: String,
    },
}

impl LifecycleEvent {
    pub fn kind(&self) -> EventKind {
        match self {
            Self::SessionStart => EventKind::SessionStart,
            Self::TurnStart { .. } => EventKind::TurnStart,
            Self::TurnEnd { .. } => EventKind::TurnEnd,
            Self::ToolCall { .. } => EventKind::ToolCall,
            Self::AssistantMessage { .. } => EventKind::AssistantMessage,
        }
    }

    pub(super) fn read(frame: &FrameReader) -> Result<Self, FrameError> {
        Ok(match frame.required("event")? {
            EventKind::SessionStart => Self::SessionStart,
            EventKind::TurnStart => Self::TurnStart {
                step: frame.read("step")?,
            },
            EventKind::TurnEnd => Self::TurnEnd {
                stop: frame.read("stop")?,
                error: frame.read("error")?,
            },
            EventKind::ToolCall => Self::ToolCall {
                tool_id: frame.read("tool_id")?,
                tool_name: frame.read("tool_name")?,
                tool_args: frame.raw("tool_args").unwrap_or_else(RawJson::empty_object),
            },
            EventKind::AssistantMessage => Self::AssistantMessage {
                text: frame.read("text")?,
            },
        })
    }
}

/// The name of an event, as `subscribe` accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    SessionStart,
    TurnStart,
    TurnEnd,
    ToolCall,
    AssistantMessage,
}

impl EventKind {
    pub const ALL: [Self; 5] = [
        Self::SessionStart,
        Self::TurnStart,
        Self::TurnEnd,
        Self::ToolCall,
        Self::AssistantMessage,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::TurnStart => "turn_start",
            Self::TurnEnd => "turn_end",
            Self::ToolCall => "tool_call",
            Self::AssistantMessage => "assistant_message",
        }
    }

    /// Whether an extension can intercept it.
    pub fn can_be_intercepted(self) -> bool {
        matches!(
            self,
            Self::TurnStart | Self::ToolCall | Self::AssistantMessage
        )
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}
