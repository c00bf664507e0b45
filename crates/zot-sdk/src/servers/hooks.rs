//! Keeps the agent's tools up to date with its servers.

use std::sync::Arc;

use tokio::time::timeout;
use zot_agent::{Hooks, SharedSettings, TurnVerdict};
use zot_conversation::{AgentEvent, BoxFuture};
use zot_mcp::name::SEPARATOR;

use super::{SERVER_START_WAIT, Servers};
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

    fn before_unknown_tool<'a>(&'a self, name: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            if self.servers.may_have(name) {
                // In a conversation that is resumed, the model knows tools of servers that are still starting.
                let _ = timeout(SERVER_START_WAIT, self.servers.settled()).await;
                self.servers.note_call(name);
                self.toolbox.refresh(&self.settings);
            }
        })
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
