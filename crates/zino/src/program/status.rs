//! `zino status`: shows which services respond, and which instances are on the bus.

mod report;
#[cfg(test)]
mod tests;

use std::time::Duration;

use tokio::time::{Instant, timeout};
use zot_wire::zino::any_service::{Request, Response};

use crate::bus::{Bus, BusError, Instance};
use crate::config::Config;
use crate::kind::ServiceKind;
use crate::logging::{Level, Log};
use crate::network::identity::LiveIdentity;
use crate::peer::{CallError, Peer};

/// The name of this process on the bus, unless the configuration has another.
const CLIENT: &str = "client";

/// How long a service may take to respond to a ping.
///
/// Limit: the service is shown as `silent`.
const STATUS_TIMEOUT: Duration = Duration::from_secs(2);

/// How long to listen on the bus: instances announce themselves every second.
///
/// Limit: an instance that has not announced itself by then is not shown.
const PRESENCE_WAIT: Duration = Duration::from_millis(1300);

/// Everything that is known about the services.
#[derive(Debug)]
pub struct Overview {
    pub services: Vec<Status>,
    /// The instances on the bus; `None` without a bus.
    pub instances: Option<Result<Vec<Instance>, BusError>>,
}

/// The state of one service at one address.
#[derive(Debug)]
pub struct Status {
    pub kind: ServiceKind,
    /// The path of its socket, or an address of `[peers]`.
    pub address: String,
    pub health: Health,
}

#[derive(Debug, PartialEq)]
pub enum Health {
    /// It responds; `version` is `None` for a service of the original.
    Responding {
        latency: Duration,
        version: Option<String>,
    },
    /// Something responds, but not as a service does.
    Unexpected(String),
    Silent,
    Down(String),
}

/// Asks every service of this machine at its socket, every one of `[peers]` at each address, and listens
/// for the instances on the bus.
pub async fn status(config: &Config, identity: Option<&LiveIdentity>) -> Overview {
    let (mut services, instances) = tokio::join!(ask_all(config, identity), listen(config));
    if let Some(Ok(instances)) = &instances {
        // A service on the bus need not be on this machine.
        let is_on_bus = |kind: ServiceKind| {
            let mut found = instances.iter();
            found.any(|instance| instance.service == kind.name())
        };
        services
            .retain(|status| !matches!(status.health, Health::Down(_)) || !is_on_bus(status.kind));
    }
    Overview {
        services,
        instances,
    }
}

async fn listen(config: &Config) -> Option<Result<Vec<Instance>, BusError>> {
    config.bus_url()?;
    // Nothing but the result is worth a line.
    let log = Log::new("status", Level::Error);
    let identity = config.bus_identity(CLIENT);
    match Bus::connect(config, &identity, log).await {
        Ok(Some(bus)) => Some(Ok(bus.instances(PRESENCE_WAIT).await)),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    }
}

async fn ask_all(config: &Config, identity: Option<&LiveIdentity>) -> Vec<Status> {
    let here = config.services_here();
    let mut found = Vec::new();
    for kind in ServiceKind::ALL {
        let socket = config.socket(kind);
        if here.contains(&kind) {
            let peer = Peer::socket(socket.clone(), config.wire.max_frame_bytes);
            found.push(ask(kind, socket.display().to_string(), &peer).await);
        }
        for address in config.peer_addresses(kind).unwrap_or_default() {
            let peer = Peer::at(config, kind, std::slice::from_ref(address), identity);
            found.push(ask(kind, address.to_string(), &peer).await);
        }
    }
    found
}

async fn ask(kind: ServiceKind, address: String, peer: &Peer<Request>) -> Status {
    let health = match timeout(STATUS_TIMEOUT, probe(peer)).await {
        Ok(health) => health,
        Err(_) => Health::Silent,
    };
    Status {
        kind,
        address,
        health,
    }
}

async fn probe(peer: &Peer<Request>) -> Health {
    let began = Instant::now();
    let response = peer.ask(Request::Ping).await;
    let latency = began.elapsed();
    match response {
        Ok(Response::Pong) => {}
        // The original's daemon has no ping, but it is alive.
        Ok(Response::Error(failure)) if failure.message.as_deref() == Some("Empty message.") => {}
        Ok(Response::Error(failure)) => {
            return Health::Unexpected(failure.message.unwrap_or_default());
        }
        Ok(Response::Other(frame)) => return Health::Unexpected(frame.to_string()),
        Ok(Response::Version { .. }) => return Health::Unexpected("a version".to_owned()),
        Err(CallError::Unreachable(error)) => return Health::Down(error.to_string()),
        Err(error) => return Health::Unexpected(error.to_string()),
    }
    let version = match peer.ask(Request::Version).await {
        Ok(Response::Version { version, .. }) => Some(version),
        _ => None,
    };
    Health::Responding { latency, version }
}
