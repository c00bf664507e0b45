//! The only way out for a child without a network: a proxy that connects to allowed hosts.
//!
//! It understands `CONNECT` and plain requests of HTTP/1, one per connection. A name is resolved once, and
//! the connection goes to that address. Everything else is closed by the sandbox itself.

mod address;
mod body;
mod contacts;
mod failure;
mod forward;
mod head;
mod request;
mod response;
mod route;
#[cfg(test)]
mod tests;
mod tunnel;

pub use contacts::{Contact, ContactLog, ContactMark};

use std::io;
use std::net::TcpListener as StandardListener;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::host::ConnectRule;
use failure::Failure;
use head::{BadHead, HeadEnd};
use request::{BadRequest, Request};
use route::{Network, OwnNetwork};

/// How many connections a proxy serves. Each takes two descriptors.
///
/// Limit: the next one waits until another ends.
const MAX_PROXY_CONNECTIONS: usize = 128;

/// How long the head of a child's request may be.
///
/// Limit: status 400.
const MAX_PROXIED_HEAD_BYTES: usize = 32 * 1024;

/// How long a child may take to send the head of its request.
///
/// Limit: status 408.
const PROXIED_HEAD_TIME: Duration = Duration::from_secs(30);

/// How long the resolution of a name may take.
///
/// Limit: status 504.
const PROXY_RESOLUTION_TIME: Duration = Duration::from_secs(15);

/// How long the connection to one address may take.
///
/// Limit: the next address of the host is tried, then status 504.
const PROXY_CONNECTION_TIME: Duration = Duration::from_secs(10);

/// How long a connection through the proxy may be silent in both directions.
///
/// Limit: it is closed, or gets status 504 if the server has not answered.
const PROXY_IDLE_TIME: Duration = Duration::from_secs(15 * 60);

/// How long a connection may be silent whose child has ended its side, as it does when it is gone. So
/// long it takes a place that the next child may need.
///
/// Limit: it is closed.
const PROXY_ENDED_TIME: Duration = Duration::from_secs(10);

/// How long a server may accept nothing of what a child sends, and be silent.
///
/// Limit: the connection is closed after at most twice that time.
const PROXY_STALL_TIME: Duration = Duration::from_secs(60);

/// How long no connection is accepted after that has failed, as it does without free descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

const ESTABLISHED: &[u8] = b"HTTP/1.1 200 Connection established\r\n\r\n";

/// Serves the connections of a listener until it is dropped.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    tasks: JoinSet<()>,
    accepting: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    rules: RwLock<Arc<[ConnectRule]>>,
    log: ContactLog,
    network: Box<dyn Network>,
    limits: Limits,
}

/// What tests cannot wait for.
#[derive(Debug, Clone)]
struct Limits {
    connections: usize,
    head_time: Duration,
    resolution_time: Duration,
    connection_time: Duration,
    idle_time: Duration,
    ended_time: Duration,
    stall_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: MAX_PROXY_CONNECTIONS,
            head_time: PROXIED_HEAD_TIME,
            resolution_time: PROXY_RESOLUTION_TIME,
            connection_time: PROXY_CONNECTION_TIME,
            idle_time: PROXY_IDLE_TIME,
            ended_time: PROXY_ENDED_TIME,
            stall_time: PROXY_STALL_TIME,
        }
    }
}

impl Shared {
    fn rules(&self) -> Arc<[ConnectRule]> {
        Arc::clone(&self.rules.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Proxy {
    /// Serves `listener`, which may be a socket of another network namespace, by `rules`. It runs in the
    /// tokio runtime of the caller, and as long as that. Fails outside of a runtime.
    pub fn start(
        listener: StandardListener,
        rules: Vec<ConnectRule>,
        log: ContactLog,
    ) -> io::Result<Self> {
        Self::serve(
            listener,
            Shared {
                rules: RwLock::new(rules.into()),
                log,
                network: Box::new(OwnNetwork::new()),
                limits: Limits::default(),
            },
        )
    }

    fn serve(listener: StandardListener, shared: Shared) -> io::Result<Self> {
        Handle::try_current().map_err(io::Error::other)?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let shared = Arc::new(shared);
        let mut tasks = JoinSet::new();
        let accepting = tasks.spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self {
            shared,
            tasks,
            accepting,
        })
    }

    /// Returns whether connections are still served: not after the end of the runtime it started in.
    pub fn is_serving(&self) -> bool {
        !self.accepting.is_finished()
    }

    /// Replaces the rules from the next request on. Open connections stay open.
    pub fn set_rules(&self, rules: Vec<ConnectRule>) {
        let mut current = self
            .shared
            .rules
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        *current = rules.into();
    }

    /// Ends every connection and returns when the listener is closed.
    pub async fn shutdown(mut self) {
        self.tasks.shutdown().await;
    }
}

/// Accepts connections. The tasks that serve them end with this one.
async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept(), if connections.len() < shared.limits.connections => {
                match accepted {
                    Ok((client, _)) => {
                        connections.spawn(serve(client, Arc::clone(&shared)));
                    }
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                }
            }
            // Even one that panicked concerns nobody else.
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn serve(mut client: TcpStream, shared: Arc<Shared>) {
    let _ = client.set_nodelay(true);
    if let Err(failure) = exchange(&mut client, &shared).await {
        failure.tell(&mut client).await;
    }
}

/// Serves one request.
async fn exchange(client: &mut TcpStream, shared: &Shared) -> Result<(), Failure> {
    let mut received = Vec::new();
    let length = match timeout(shared.limits.head_time, read_head(client, &mut received)).await {
        Ok(length) => length?,
        Err(_) if received.is_empty() => return Err(Failure::Closed),
        Err(_) => return Err(Failure::LateRequest),
    };
    let request = Request::parse(&received[..length])?;
    let early = &received[length..];
    let target = match &request {
        Request::Connect(target) => target,
        Request::Forward(forward) => &forward.target,
    };
    let server = route::connect(target, shared).await?;
    let _ = server.set_nodelay(true);
    match request {
        Request::Connect(_) => {
            let written = client.write_all(ESTABLISHED).await;
            written.map_err(|_| Failure::Closed)?;
            tunnel::tunnel(client, &server, early, &shared.limits).await;
            Ok(())
        }
        Request::Forward(request) => {
            forward::forward(client, &server, request, early, &shared.limits).await
        }
    }
}

/// Reads until `received` has a head, and returns its length.
async fn read_head(client: &mut TcpStream, received: &mut Vec<u8>) -> Result<usize, Failure> {
    let mut end = HeadEnd::default();
    loop {
        let length = end.find(received).map_err(BadRequest::from)?;
        // Only what belongs to the head counts.
        if length.unwrap_or(received.len()) > MAX_PROXIED_HEAD_BYTES {
            return Err(BadRequest::from(BadHead::Long).into());
        }
        if let Some(length) = length {
            return Ok(length);
        }
        let count = client.read_buf(received).await;
        if count.map_err(|_| Failure::Closed)? == 0 {
            return Err(Failure::Closed);
        }
    }
}
