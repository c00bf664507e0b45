//! Puts services together: one for its own process, or all of them for one.

use std::sync::Arc;

use crate::agent_loop::AgentLoopService;
use crate::config::Config;
use crate::context::ContextService;
use crate::daemon::{DaemonPeers, DaemonService};
use crate::executor::ExecutorService;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::memory::MemoryService;
use crate::peer::Peer;
use crate::router::RouterService;
use crate::service::Service;
use crate::system_prompt::SystemPromptService;

/// Makes services that find each other.
pub struct Stack<'a> {
    config: &'a Config,
    /// Those that live in this process.
    local: Vec<Arc<dyn Service>>,
}

impl<'a> Stack<'a> {
    pub fn new(config: &'a Config) -> Self {
        Self {
            config,
            local: Vec::new(),
        }
    }

    /// All services, each of which calls the others straight.
    pub fn all(config: &'a Config) -> Result<Vec<Arc<dyn Service>>, String> {
        let mut stack = Self::new(config);
        // In this order nobody needs someone who is not there yet.
        for kind in ServiceKind::ALL {
            let service = stack
                .build(kind)
                .map_err(|error| format!("{}: {error}", kind.name()))?;
            stack.local.push(service);
        }
        Ok(stack.local)
    }

    pub fn build(&self, kind: ServiceKind) -> Result<Arc<dyn Service>, String> {
        let config = self.config.clone();
        let log = self.log(kind);
        Ok(match kind {
            ServiceKind::Router => Arc::new(RouterService::new(&config, log).map_err(told)?),
            ServiceKind::SystemPrompt => Arc::new(SystemPromptService::new(config, log)?),
            ServiceKind::Executor => Arc::new(ExecutorService::new(config, log).map_err(told)?),
            ServiceKind::Memory => Arc::new(MemoryService::new(&config)),
            ServiceKind::Context => Arc::new(ContextService::new(
                config,
                log,
                self.peer(ServiceKind::Memory),
            )),
            ServiceKind::AgentLoop => Arc::new(AgentLoopService::new(
                config,
                log,
                self.peer(ServiceKind::Router),
                self.peer(ServiceKind::Executor),
            )),
            ServiceKind::Daemon => Arc::new(DaemonService::new(
                config,
                log,
                DaemonPeers {
                    system_prompt: self.peer(ServiceKind::SystemPrompt),
                    context: self.peer(ServiceKind::Context),
                    agent_loop: self.peer(ServiceKind::AgentLoop),
                    router: self.peer(ServiceKind::Router),
                    memory: self.peer(ServiceKind::Memory),
                },
            )),
        })
    }

    pub fn log(&self, kind: ServiceKind) -> Log {
        Log::new(kind.name(), self.config.log_level())
    }

    fn peer(&self, kind: ServiceKind) -> Peer {
        let local = self.local.iter().find(|service| service.kind() == kind);
        let peer = match local {
            Some(service) => Peer::local(Arc::clone(service), self.log(kind)),
            None => Peer::socket(self.config.socket(kind), self.config.wire.max_frame_bytes),
        };
        let answer_limit = self.config.answer_limit();
        peer.within(match kind {
            ServiceKind::SystemPrompt | ServiceKind::Memory => answer_limit,
            // It waits for `mem` itself.
            ServiceKind::Context => answer_limit.saturating_mul(2),
            ServiceKind::Router => self.config.router_limit(),
            ServiceKind::AgentLoop | ServiceKind::Executor | ServiceKind::Daemon => {
                self.config.idle_limit()
            }
        })
    }
}

fn told(error: impl std::fmt::Display) -> String {
    error.to_string()
}
