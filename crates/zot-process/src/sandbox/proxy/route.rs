//! From a target to a connection: the rules, one resolution, and the addresses it gave.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _};
use std::pin::Pin;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::Shared;
use super::address::is_public;
use super::contacts::{Contact, ContactLog};
use super::failure::Failure;
use crate::sandbox::host::{ConnectRule, Host, HostName, Target};

/// How many addresses of a host are tried.
///
/// Limit: the others are ignored.
const MAX_PROXY_ADDRESSES: usize = 4;

/// How many names a proxy looks up at a time. Each takes a thread, for as long as the system's resolver
/// takes, and the whole process has a limited number of these.
///
/// Limit: the next one waits, as part of the time for its resolution.
pub(super) const MAX_PROXY_LOOKUPS: usize = 16;

pub(super) type Answer<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

/// The network of the user, or that of a test.
pub(super) trait Network: fmt::Debug + Send + Sync {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Answer<'a, Vec<IpAddr>>;
    fn connect(&self, address: SocketAddr) -> Answer<'_, TcpStream>;
}

/// The network of this process.
#[derive(Debug)]
pub(super) struct OwnNetwork {
    lookups: Arc<Semaphore>,
    look_up: LookUp,
}

/// Blocks the thread.
pub(super) type LookUp = fn(&str) -> io::Result<Vec<IpAddr>>;

impl OwnNetwork {
    pub(super) fn new() -> Self {
        Self::with(|name| {
            let found = (name, 0).to_socket_addrs()?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }

    pub(super) fn with(look_up: LookUp) -> Self {
        Self {
            lookups: Arc::new(Semaphore::new(MAX_PROXY_LOOKUPS)),
            look_up,
        }
    }
}

impl Network for OwnNetwork {
    fn resolve<'a>(&'a self, name: &'a HostName) -> Answer<'a, Vec<IpAddr>> {
        Box::pin(async move {
            let lookups = Arc::clone(&self.lookups);
            let place = lookups.acquire_owned().await.map_err(io::Error::other)?;
            let (name, look_up) = (name.as_str().to_owned(), self.look_up);
            let found = spawn_blocking(move || {
                // Held to the end of the lookup, even if nobody waits for it any more.
                let _place = place;
                look_up(&name)
            });
            found.await.map_err(io::Error::other)?
        })
    }

    fn connect(&self, address: SocketAddr) -> Answer<'_, TcpStream> {
        Box::pin(TcpStream::connect(address))
    }
}

/// Connects to `target` if the rules allow it, and notes in the log whether they do.
///
/// A name is resolved once, after the rules have allowed it: a resolution alone tells the servers of a
/// domain whatever the name says. The connection goes to an address of that answer.
pub(super) async fn connect(target: &Target, shared: &Shared) -> Result<TcpStream, Failure> {
    let (rules, log, network) = (&shared.rules(), &shared.log, &shared.network);
    if !rules.iter().any(|rule| rule.allows(target)) {
        log.add(Contact::new(target, false));
        return Err(Failure::NotAllowed(target.clone()));
    }
    let addresses = match &target.host {
        Host::Address(address) => vec![*address],
        Host::Name(name) => {
            let resolution = timeout(shared.limits.resolution_time, network.resolve(name)).await;
            let all = match resolution {
                Ok(Ok(addresses)) => addresses,
                Ok(Err(source)) => {
                    log.add(Contact::new(target, true));
                    let target = target.clone();
                    return Err(Failure::Unresolved { target, source });
                }
                Err(_) => {
                    log.add(Contact::new(target, true));
                    return Err(Failure::LateServer(target.clone()));
                }
            };
            reachable(target, all, rules, log)?
        }
    };
    log.add(Contact::new(target, true));
    let mut failure = Failure::Unresolved {
        target: target.clone(),
        source: io::Error::from(io::ErrorKind::NotFound),
    };
    for address in addresses.into_iter().take(MAX_PROXY_ADDRESSES) {
        let connection = network.connect(SocketAddr::new(address, target.port));
        failure = match timeout(shared.limits.connection_time, connection).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(source)) => Failure::Unreachable {
                target: target.clone(),
                source,
            },
            Err(_) => Failure::LateServer(target.clone()),
        };
    }
    Err(failure)
}

/// Returns the addresses to which an allowed name may lead. Without this the owner of a name could let it
/// lead into the network of the user.
fn reachable(
    target: &Target,
    addresses: Vec<IpAddr>,
    rules: &[ConnectRule],
    log: &ContactLog,
) -> Result<Vec<IpAddr>, Failure> {
    let is_localhost = matches!(&target.host, Host::Name(name) if name.as_str() == "localhost");
    let is_allowed = |address: &IpAddr| {
        let itself = Target {
            host: Host::Address(*address),
            port: target.port,
        };
        is_public(*address)
            || is_localhost && address.is_loopback()
            || rules.iter().any(|rule| rule.allows(&itself))
    };
    let mut refused = None;
    let mut allowed = Vec::new();
    for address in addresses.iter().map(IpAddr::to_canonical) {
        match is_allowed(&address) {
            true => allowed.push(address),
            false => refused = refused.or(Some(address)),
        }
    }
    match refused {
        Some(address) if allowed.is_empty() => {
            let mut contact = Contact::new(target, false);
            contact.private_address = Some(address);
            log.add(contact);
            let target = target.clone();
            Err(Failure::Private { target, address })
        }
        _ => Ok(allowed),
    }
}
