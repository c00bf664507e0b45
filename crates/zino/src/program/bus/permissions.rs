//! What each kind of process may say and hear on the bus: the table of who calls whom, as subjects.

use crate::kind::ServiceKind;

/// A kind of process, which has a key of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// The name of its key, and its `[bus] identity`.
    pub name: String,
    pub role: Role,
}

/// What a process does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// Runs these services.
    Services(Vec<ServiceKind>),
    /// Runs agents: `zino agent`.
    Agent,
    /// Asks: `zino cli`, `zino attach`, `zino status`.
    Client,
    /// Only looks: `zino events`, `zino status`.
    Watcher,
}

/// The subjects a process may publish and subscribe to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Permissions {
    pub(super) publish: Vec<String>,
    pub(super) subscribe: Vec<String>,
}

/// The service of agents, all profiles.
const AGENTS: &str = "agent.*";

/// The part of `mem` that `exc` may use.
const CLAIMS: &str = "claims";

impl Role {
    /// The names under which it serves.
    fn serves(&self) -> Vec<&'static str> {
        match self {
            Self::Services(kinds) => {
                let claims = kinds.contains(&ServiceKind::Memory).then_some(CLAIMS);
                kinds.iter().map(|kind| kind.name()).chain(claims).collect()
            }
            Self::Agent => vec![AGENTS],
            Self::Client | Self::Watcher => Vec::new(),
        }
    }

    /// The names of what it calls.
    fn calls(&self) -> Vec<&'static str> {
        let mut names: Vec<&'static str> = match self {
            Self::Services(kinds) => kinds.iter().flat_map(|kind| called_by(*kind)).collect(),
            Self::Client => vec![ServiceKind::Daemon.name(), AGENTS],
            Self::Agent | Self::Watcher => Vec::new(),
        };
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The events it publishes.
    fn events(&self) -> Option<&'static str> {
        match self {
            Self::Services(kinds) if kinds.contains(&ServiceKind::Daemon) => Some("channel"),
            Self::Agent => Some("session"),
            _ => None,
        }
    }
}

fn called_by(kind: ServiceKind) -> Vec<&'static str> {
    match kind {
        ServiceKind::Daemon => vec!["agr", "ctx", "mem", "rtr", "sys"],
        ServiceKind::AgentLoop => vec!["exc", "rtr"],
        ServiceKind::Context => vec!["mem"],
        ServiceKind::Executor => vec![CLAIMS],
        ServiceKind::Router | ServiceKind::SystemPrompt | ServiceKind::Memory => Vec::new(),
    }
}

pub(super) fn permissions(process: &Process, all: &[Process], namespace: &str) -> Permissions {
    let root = format!("zino.{namespace}");
    let (serves, calls) = (process.role.serves(), process.role.calls());
    let mut publish = Vec::new();
    let mut subscribe = Vec::new();
    for name in &calls {
        publish.push(format!("{root}.{name}"));
        publish.push(format!("{root}.{name}.i.*"));
    }
    // What a caller says during a call.
    for other in all {
        if other.role.serves().iter().any(|name| calls.contains(name)) {
            publish.push(format!("{root}.ctl.{}.>", other.name));
        }
    }
    for name in &serves {
        publish.push(format!("{root}.hb.{name}"));
        subscribe.push(format!("{root}.{name}"));
        subscribe.push(format!("{root}.{name}.i.*"));
    }
    // Responses.
    for other in all {
        if other.role.calls().iter().any(|name| serves.contains(name)) {
            publish.push(format!("_INBOX_{}.>", other.name));
        }
    }
    if let Some(kind) = process.role.events() {
        publish.push(format!("{root}.ev.{kind}.*"));
    }
    // A message to itself, with which a process finds out what it may not do.
    publish.push(format!("{root}.ctl.{}.*.echo", process.name));
    subscribe.push(format!("_INBOX_{}.>", process.name));
    subscribe.push(format!("{root}.ctl.{}.>", process.name));
    subscribe.push(format!("{root}.hb.>"));
    if matches!(process.role, Role::Client | Role::Watcher) {
        subscribe.push(format!("{root}.ev.>"));
    }
    Permissions { publish, subscribe }
}
