//! Builds services: one for its own process, or all of them for one process.

use std::sync::Arc;

use zot_wire::zino::{Request, claims};

use crate::agent_loop::AgentLoopService;
use crate::bus::Bus;
use crate::config::Config;
use crate::context::ContextService;
use crate::daemon::{CHANNEL_EVENTS, DaemonPeers, DaemonService, Watchers};
use crate::executor::ExecutorService;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::memory::{ClaimsService, MemoryService};
use crate::network::identity::LiveIdentity;
use crate::peer::Peer;
use crate::router::RouterService;
use crate::service::{AnyService, Service};
use crate::system_prompt::SystemPromptService;

/// In this order, every service comes after those it calls.
const BUILD_ORDER: [ServiceKind; ServiceKind::ALL.len()] = [
    ServiceKind::Router,
    ServiceKind::SystemPrompt,
    ServiceKind::Memory,
    ServiceKind::Executor,
    ServiceKind::Context,
    ServiceKind::AgentLoop,
    ServiceKind::Daemon,
];

/// Builds services and connects them to each other.
pub struct Stack<'a> {
    config: &'a Config,
    identity: Option<&'a LiveIdentity>,
    bus: Option<&'a Bus>,
    built: Built,
}

/// The services of this process that others call.
#[derive(Default)]
struct Built {
    router: Option<Arc<RouterService>>,
    system_prompt: Option<Arc<SystemPromptService>>,
    executor: Option<Arc<ExecutorService>>,
    memory: Option<Arc<MemoryService>>,
    context: Option<Arc<ContextService>>,
    agent_loop: Option<Arc<AgentLoopService>>,
}

impl<'a> Stack<'a> {
    pub fn new(
        config: &'a Config,
        identity: Option<&'a LiveIdentity>,
        bus: Option<&'a Bus>,
    ) -> Self {
        Self {
            config,
            identity,
            bus,
            built: Built::default(),
        }
    }

    /// Builds services, which call each other without sockets.
    pub fn build_all(mut self, kinds: &[ServiceKind]) -> Result<Vec<Arc<dyn AnyService>>, String> {
        let build = |kind: ServiceKind| {
            self.build(kind).map_err(|error| match kinds {
                [_] => error,
                _ => format!("{}: {error}", kind.name()),
            })
        };
        let kinds = BUILD_ORDER.into_iter().filter(|kind| kinds.contains(kind));
        kinds.map(build).collect()
    }

    /// Builds one service. It calls those built before it without sockets, unless `[peers]` says
    /// where they are.
    fn build(&mut self, kind: ServiceKind) -> Result<Arc<dyn AnyService>, String> {
        let config = self.config.clone();
        let log = self.log(kind);
        Ok(match kind {
            ServiceKind::Router => {
                let service =
                    RouterService::new(&config, log).map_err(|error| error.to_string())?;
                keep(&mut self.built.router, service)
            }
            ServiceKind::SystemPrompt => {
                let service = SystemPromptService::new(config, log)?;
                keep(&mut self.built.system_prompt, service)
            }
            ServiceKind::Executor => {
                let service = ExecutorService::new(config, log, self.claims())
                    .map_err(|error| error.to_string())?;
                keep(&mut self.built.executor, service)
            }
            ServiceKind::Memory => {
                let service = MemoryService::new(&config).map_err(|error| error.to_string())?;
                keep(&mut self.built.memory, service)
            }
            ServiceKind::Context => {
                let memory = self.peer(ServiceKind::Memory, &self.built.memory);
                let service = ContextService::new(config, log, memory);
                keep(&mut self.built.context, service)
            }
            ServiceKind::AgentLoop => {
                let router = self.peer(ServiceKind::Router, &self.built.router);
                let executor = self.peer(ServiceKind::Executor, &self.built.executor);
                let service = AgentLoopService::new(config, log, router, executor);
                keep(&mut self.built.agent_loop, service)
            }
            ServiceKind::Daemon => {
                let built = &self.built;
                let peers = DaemonPeers {
                    system_prompt: self.peer(ServiceKind::SystemPrompt, &built.system_prompt),
                    context: self.peer(ServiceKind::Context, &built.context),
                    agent_loop: self.peer(ServiceKind::AgentLoop, &built.agent_loop),
                    router: self.peer(ServiceKind::Router, &built.router),
                    memory: self.peer(ServiceKind::Memory, &built.memory),
                };
                let service = DaemonService::new(config, log, peers);
                Arc::new(match self.bus.cloned() {
                    Some(bus) => service.with_watchers(Watchers {
                        node: bus.instance().to_owned(),
                        publish: Arc::new(move |turn, event| {
                            bus.publish_event(CHANNEL_EVENTS, turn, event);
                        }),
                    }),
                    None => service,
                })
            }
        })
    }

    /// Where `exc` claims the code it runs; `None` when no store is shared.
    fn claims(&self) -> Option<Peer<claims::Request>> {
        let local = self.built.memory.as_ref();
        let local = local.map(|memory| Arc::new(ClaimsService::new(Arc::clone(memory))));
        let is_here = local.is_some() || self.config.peer_addresses(ServiceKind::Memory).is_some();
        let peer = match self.bus {
            // Under a name of its own, so that `exc` needs no right to read memories.
            Some(bus) if !is_here => {
                Peer::on_bus(bus, ClaimsService::NAME).within(self.config.answer_limit())
            }
            _ => self.peer(ServiceKind::Memory, &local),
        };
        self.config.holds_channels().then_some(peer)
    }

    pub fn log(&self, kind: ServiceKind) -> Log {
        Log::new(kind.name(), self.config.log_level())
    }

    fn peer<R: Request, S: Service<Request = R>>(
        &self,
        kind: ServiceKind,
        local: &Option<Arc<S>>,
    ) -> Peer<R> {
        let peer = match local {
            Some(service) if self.config.peer_addresses(kind).is_none() => {
                let service: Arc<dyn Service<Request = R>> = Arc::<S>::clone(service);
                Peer::local(service, self.log(kind))
            }
            _ => Peer::configured(self.config, kind, self.identity, self.bus),
        };
        let answer_limit = self.config.answer_limit();
        peer.within(match kind {
            ServiceKind::SystemPrompt | ServiceKind::Memory => answer_limit,
            // `ctx` itself waits for `mem`.
            ServiceKind::Context => answer_limit.saturating_mul(2),
            ServiceKind::Router => self.config.router_limit(),
            ServiceKind::AgentLoop | ServiceKind::Executor | ServiceKind::Daemon => {
                self.config.idle_limit()
            }
        })
    }
}

fn keep<S: Service>(slot: &mut Option<Arc<S>>, service: S) -> Arc<dyn AnyService> {
    let service = Arc::new(service);
    *slot = Some(Arc::clone(&service));
    service
}
