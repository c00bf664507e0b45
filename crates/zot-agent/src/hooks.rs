//! Where extensions, approvals and embedding programs watch and intervene.

use std::future::ready;

use zot_conversation::{AgentEvent, Arguments, BoxFuture, ToolCall};

/// Called by the driver at the points where a turn can be watched or changed.
///
/// An abort ends every wait here: a tool then counts as refused, everything else as allowed.
pub trait Hooks: Send + Sync {
    /// Called before each model call, after `TurnStarted`.
    fn before_turn(&self, _step: u32) -> BoxFuture<'_, TurnVerdict> {
        Box::pin(ready(TurnVerdict::Proceed))
    }

    /// Called before a call of an unknown tool, which may be about to become known. The call fails if it is
    /// still unknown afterwards.
    fn before_unknown_tool<'a>(&'a self, _name: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(ready(()))
    }

    /// Called before each call of a known tool with well-formed arguments.
    fn before_tool<'a>(&'a self, _call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        Box::pin(ready(ToolVerdict::Proceed))
    }

    /// Called before an assistant message that has text is reported.
    fn before_assistant_message<'a>(&'a self, _text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        Box::pin(ready(MessageVerdict::Keep))
    }

    /// Returns whether text is reported only when
    /// [`before_assistant_message`](Self::before_assistant_message) has seen all of it.
    fn holds_text(&self) -> bool {
        false
    }

    /// Returns what the user should know about a request, and does not return it again. Called when the
    /// model has accepted the request, and reported as [`AgentEvent::Notice`].
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Called with every event, in order, before the front end gets it.
    fn on_event(&self, _event: &AgentEvent) {}
}

/// Whether a model call may happen.
#[derive(Debug, Clone, PartialEq)]
pub enum TurnVerdict {
    Proceed,
    Block { reason: String },
}

/// Whether a tool may run, and with what.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolVerdict {
    Proceed,
    Rewrite(Arguments),
    /// The reason is what the model reads as the call's error.
    Block {
        reason: String,
    },
}

/// How an assistant message is reported. The transcript keeps the model's text.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageVerdict {
    Keep,
    Replace(String),
    Suppress,
}

/// Hooks that allow everything.
pub struct NoHooks;

impl Hooks for NoHooks {}
