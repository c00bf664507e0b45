//! Chains hooks.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use zot_agent::{Hooks, MessageVerdict, ToolVerdict, TurnVerdict};
use zot_conversation::{AgentEvent, BoxFuture, ToolCall};

/// Asks `first`, then `last` about the result of `first`. The first to block wins.
pub(crate) struct ChainedHooks {
    pub(crate) first: Arc<dyn Hooks>,
    pub(crate) last: Arc<dyn Hooks>,
}

impl Hooks for ChainedHooks {
    fn before_turn(&self, step: u32) -> BoxFuture<'_, TurnVerdict> {
        Box::pin(async move {
            match self.first.before_turn(step).await {
                TurnVerdict::Proceed => self.last.before_turn(step).await,
                block @ TurnVerdict::Block { .. } => block,
            }
        })
    }

    fn before_unknown_tool<'a>(&'a self, name: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.first.before_unknown_tool(name).await;
            self.last.before_unknown_tool(name).await;
        })
    }

    fn before_tool<'a>(&'a self, call: &'a ToolCall) -> BoxFuture<'a, ToolVerdict> {
        Box::pin(async move {
            match self.first.before_tool(call).await {
                ToolVerdict::Proceed => self.last.before_tool(call).await,
                ToolVerdict::Rewrite(arguments) => {
                    let rewritten = ToolCall {
                        arguments,
                        ..call.clone()
                    };
                    match self.last.before_tool(&rewritten).await {
                        ToolVerdict::Proceed => ToolVerdict::Rewrite(rewritten.arguments),
                        other => other,
                    }
                }
                block @ ToolVerdict::Block { .. } => block,
            }
        })
    }

    fn before_assistant_message<'a>(&'a self, text: &'a str) -> BoxFuture<'a, MessageVerdict> {
        Box::pin(async move {
            match self.first.before_assistant_message(text).await {
                MessageVerdict::Keep => self.last.before_assistant_message(text).await,
                MessageVerdict::Replace(text) => {
                    match self.last.before_assistant_message(&text).await {
                        MessageVerdict::Keep => MessageVerdict::Replace(text),
                        other => other,
                    }
                }
                MessageVerdict::Suppress => MessageVerdict::Suppress,
            }
        })
    }

    fn holds_text(&self) -> bool {
        self.first.holds_text() || self.last.holds_text()
    }

    fn take_notices(&self) -> Vec<String> {
        let mut notices = self.first.take_notices();
        notices.extend(self.last.take_notices());
        notices
    }

    fn on_event(&self, event: &AgentEvent) {
        self.first.on_event(event);
        self.last.on_event(event);
    }
}
