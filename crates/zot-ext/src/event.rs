//! The events of an agent, one type for each kind.

use serde_json::Value;
use zot_wire::RawJson;
use zot_wire::extension::{EventKind, LifecycleEvent};

/// A kind of event; the type of a handler's parameter selects it.
pub trait Event: Into<LifecycleEvent> + Sized + 'static {
    const KIND: EventKind;

    /// Fails for events of another kind and for invalid events.
    fn from_lifecycle(event: LifecycleEvent) -> Result<Self, String>;
}

/// The extension is ready, and part of the agent from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionStart;

/// A model call begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnStart {
    /// Counts from 1 within a prompt.
    pub step: u32,
}

/// A model call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnd {
    /// `end`, `tool_use`, `length`, `error` or `aborted`.
    pub stop: String,
    pub error: Option<String>,
}

/// The model asked for a tool, of zot or of any extension.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub args: Value,
}

/// The model sent a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssistantMessage {
    /// Empty when the model only called tools.
    pub text: String,
}

impl ToolCall {
    /// Returns a call without an id, for tests.
    pub fn new(name: impl Into<String>, args: Value) -> Self {
        Self {
            id: String::new(),
            name: name.into(),
            args,
        }
    }
}

impl Event for SessionStart {
    const KIND: EventKind = EventKind::SessionStart;

    fn from_lifecycle(event: LifecycleEvent) -> Result<Self, String> {
        match event {
            LifecycleEvent::SessionStart => Ok(Self),
            other => Err(mismatch::<Self>(&other)),
        }
    }
}

impl From<SessionStart> for LifecycleEvent {
    fn from(_: SessionStart) -> Self {
        Self::SessionStart
    }
}

impl Event for TurnStart {
    const KIND: EventKind = EventKind::TurnStart;

    fn from_lifecycle(event: LifecycleEvent) -> Result<Self, String> {
        match event {
            LifecycleEvent::TurnStart { step } => Ok(Self { step }),
            other => Err(mismatch::<Self>(&other)),
        }
    }
}

impl From<TurnStart> for LifecycleEvent {
    fn from(event: TurnStart) -> Self {
        Self::TurnStart { step: event.step }
    }
}

impl Event for TurnEnd {
    const KIND: EventKind = EventKind::TurnEnd;

    fn from_lifecycle(event: LifecycleEvent) -> Result<Self, String> {
        match event {
            LifecycleEvent::TurnEnd { stop, error } => Ok(Self { stop, error }),
            other => Err(mismatch::<Self>(&other)),
        }
    }
}

impl From<TurnEnd> for LifecycleEvent {
    fn from(event: TurnEnd) -> Self {
        Self::TurnEnd {
            stop: event.stop,
            error: event.error,
        }
    }
}

impl Event for ToolCall {
    const KIND: EventKind = EventKind::ToolCall;

    fn from_lifecycle(event: LifecycleEvent) -> Result<Self, String> {
        match event {
            LifecycleEvent::ToolCall {
                tool_id,
                tool_name,
                tool_args,
            } => Ok(Self {
                id: tool_id,
                name: tool_name,
                // It is valid JSON, but may be nested too deeply. A guard must never see anything
                // other than what will run.
                args: serde_json::from_str(tool_args.get())
                    .map_err(|error| format!("cannot read the arguments: {error}"))?,
            }),
            other => Err(mismatch::<Self>(&other)),
        }
    }
}

impl From<ToolCall> for LifecycleEvent {
    fn from(event: ToolCall) -> Self {
        Self::ToolCall {
            tool_id: event.id,
            tool_name: event.name,
            tool_args: RawJson::try_from(event.args.to_string())
                .unwrap_or_else(|_| RawJson::empty_object()),
        }
    }
}

impl Event for AssistantMessage {
    const KIND: EventKind = EventKind::AssistantMessage;

    fn from_lifecycle(event: LifecycleEvent) -> Result<Self, String> {
        match event {
            LifecycleEvent::AssistantMessage { text } => Ok(Self { text }),
            other => Err(mismatch::<Self>(&other)),
        }
    }
}

impl From<AssistantMessage> for LifecycleEvent {
    fn from(event: AssistantMessage) -> Self {
        Self::AssistantMessage { text: event.text }
    }
}

fn mismatch<E: Event>(event: &LifecycleEvent) -> String {
    format!(
        "expected a {} event, got {}",
        E::KIND.as_str(),
        event.kind().as_str()
    )
}
