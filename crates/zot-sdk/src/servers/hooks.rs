//! Keeps the agent's tools up to date with its servers.

use std::sync::Arc;

use zot_agent::{Hooks, SharedSettings, TurnVerdict};
use zot_conversation::{AgentEvent, BoxFuture};
use zot_mcp::name::SEPARATOR;

use super::Servers;
use crate::toolbox::ToolBox;

/// Declares what servers offer and searches have found, before each model call.
pub(crate) struct ServerHooks {
    pub(crate) servers: Arc<Servers>,
    pub(crate) toolbox: Arc<ToolBox>,
    pub(crate) settings: Arc<SharedSettings>,
}

impl Hooks for ServerHooks {
    fn before_turn(&self, _step: u32) -> BoxFuture<'_, TurnVerdict> {
        self.servers.notice_missing();
        self.toolbox.refresh(&self.settings);
        Box::pin(std::future::ready(TurnVerdict::Proceed))
    }

    fn take_notices(&self) -> Vec<String> {
        self.servers.take_notices()
    }

    fn on_event(&self, event: &AgentEvent) {
        if let AgentEvent::ToolCallRequested(call) = event
            && call.name.contains(SEPARATOR)
        {
            self.servers.note_call(&call.name);
        }
    }
}
