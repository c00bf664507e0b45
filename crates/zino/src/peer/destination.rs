//! One network address of a service: connections to it are made, checked and kept.

use std::io;
use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout};
use tokio_rustls::{TlsConnector, TlsStream};

use super::error::AddressFailure;
use super::kept::{Connection, SILENCE_TIMEOUT};
use crate::config::address::{NetworkAddress, Security};
use crate::network::identity::{Identity, LiveIdentity};
use crate::network::options::{self, REQUEST_ACKNOWLEDGEMENT_TIMEOUT};
use crate::network::stream::NetworkStream;

/// How long a machine may take to accept a connection, with the lookup of its name.
///
/// Limit: the next address is tried.
const PEER_CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// How recently a kept connection must have been heard from to be used without a check.
const FRESH_TIME: Duration = Duration::from_millis(250);

/// How many connections to an address are made at a time. More would delay each other, and the service,
/// beyond the limit.
///
/// Limit: further calls wait for a connection, new or used.
const MAX_CONNECTING: usize = 16;

/// How often a call that waits for a connection looks for one by itself.
const TURN_INTERVAL: Duration = Duration::from_millis(100);

/// How many unused connections to an address are kept.
///
/// Limit: further connections are closed after their response.
const MAX_IDLE_CONNECTIONS: usize = 64;

/// How long an unused connection is kept.
///
/// Limit: an unused connection is closed.
const MAX_IDLE_TIME: Duration = Duration::from_secs(60);

/// How long an address that failed comes after the others.
const PENALTY: Duration = Duration::from_secs(5);

/// Where a service can be called, and what is known about it.
pub(super) struct Destination {
    pub(super) address: NetworkAddress,
    /// The name in the service's certificate.
    name: Option<ServerName<'static>>,
    identity: Option<LiveIdentity>,
    max_frame_bytes: usize,
    state: Mutex<State>,
    /// Which of several addresses of one name comes first.
    turn: AtomicUsize,
    connecting: Semaphore,
    /// Rings when a connection can be taken or made.
    available: Notify,
}

#[derive(Default)]
struct State {
    /// The last one used is at the end.
    idle: Vec<Connection>,
    penalised_until: Option<Instant>,
    attempts: Attempts,
}

/// How attempts to connect have ended so far.
#[derive(Debug, Clone, Copy, Default)]
struct Attempts {
    succeeded: u64,
    failed: u64,
}

/// The right to make a connection. Its end, however it comes, wakes those who wait for it.
struct Turn<'a> {
    permit: Option<SemaphorePermit<'a>>,
    available: &'a Notify,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        drop(self.permit.take());
        self.available.notify_one();
    }
}

impl Destination {
    pub(super) fn new(
        address: NetworkAddress,
        name: Option<ServerName<'static>>,
        identity: Option<LiveIdentity>,
        max_frame_bytes: usize,
    ) -> Self {
        Self {
            address,
            name,
            identity,
            max_frame_bytes,
            state: Mutex::default(),
            turn: AtomicUsize::new(0),
            connecting: Semaphore::new(MAX_CONNECTING),
            available: Notify::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_penalised(&self) -> bool {
        let until = self.state().penalised_until;
        until.is_some_and(|until| Instant::now() < until)
    }

    /// Puts the address behind the others, and closes its unused connections: they are likely dead too.
    pub(super) fn penalise(&self) {
        let mut state = self.state();
        state.penalised_until = Some(Instant::now() + PENALTY);
        let closed = mem::take(&mut state.idle);
        drop(state);
        drop(closed);
    }

    /// Notes that the address is about to be tried: others should not also try one that has failed
    /// before.
    pub(super) fn try_cautiously(&self) {
        let mut state = self.state();
        if state.penalised_until.is_some() {
            state.penalised_until = Some(Instant::now() + PEER_CONNECT_TIMEOUT + SILENCE_TIMEOUT);
        }
    }

    pub(super) fn forgive(&self) {
        self.state().penalised_until = None;
    }

    fn identity(&self) -> Option<Arc<Identity>> {
        self.identity.as_ref().map(LiveIdentity::current)
    }

    /// Returns a kept connection that the service answers on, if there is one.
    pub(super) async fn kept(&self) -> Result<Option<Connection>, AddressFailure> {
        let identity = self.identity();
        while let Some(mut connection) = self.take_idle(identity.as_ref()) {
            if connection.last_used.elapsed() < FRESH_TIME {
                return Ok(Some(connection));
            }
            match timeout(SILENCE_TIMEOUT, connection.check()).await {
                Ok(Ok(())) => return Ok(Some(connection)),
                // The service may have been restarted: the next connection tells.
                Ok(Err(
                    AddressFailure::Closed | AddressFailure::Closing | AddressFailure::Broken(_),
                )) => {}
                Ok(Err(failure)) => return Err(failure),
                Err(_) => return Err(AddressFailure::Silent(SILENCE_TIMEOUT)),
            }
        }
        Ok(None)
    }

    fn take_idle(&self, identity: Option<&Arc<Identity>>) -> Option<Connection> {
        let mut state = self.state();
        // From the front, which holds those that were not used for longest.
        state.idle.retain(|connection| {
            connection.last_used.elapsed() < MAX_IDLE_TIME && connection.is_made_with(identity)
        });
        loop {
            let mut connection = state.idle.pop()?;
            if connection.is_quiet() {
                return Some(connection);
            }
        }
    }

    /// Keeps a connection whose response has ended.
    pub(super) fn keep(&self, mut connection: Connection) {
        connection.last_used = Instant::now();
        let mut state = self.state();
        if state.idle.len() < MAX_IDLE_CONNECTIONS {
            state.idle.push(connection);
            drop(state);
            self.available.notify_one();
        }
    }

    /// Makes a new connection, unless another call has finished with its own by the time it is our turn.
    pub(super) async fn connect(&self) -> Result<Connection, AddressFailure> {
        let before = self.state().attempts;
        loop {
            if let Some(_turn) = self.take_turn() {
                let connected = self.connect_now().await;
                match &connected {
                    Ok(_) => self.state().attempts.succeeded += 1,
                    Err(_) => {
                        self.state().attempts.failed += 1;
                        self.available.notify_waiters();
                    }
                }
                return connected;
            }
            // Limited, since a notice that comes just before is missed.
            let _ = timeout(TURN_INTERVAL, self.available.notified()).await;
            let now = self.state().attempts;
            if now.failed != before.failed && now.succeeded == before.succeeded {
                return Err(AddressFailure::NotTried);
            }
            if let Some(connection) = self.kept().await? {
                return Ok(connection);
            }
        }
    }

    fn take_turn(&self) -> Option<Turn<'_>> {
        let permit = self.connecting.try_acquire().ok()?;
        Some(Turn {
            permit: Some(permit),
            available: &self.available,
        })
    }

    async fn connect_now(&self) -> Result<Connection, AddressFailure> {
        let stream = match timeout(PEER_CONNECT_TIMEOUT, self.dial()).await {
            Ok(dialled) => dialled.map_err(AddressFailure::Connect)?,
            Err(_) => return Err(AddressFailure::ConnectTimeout(PEER_CONNECT_TIMEOUT)),
        };
        options::prepare(&stream, REQUEST_ACKNOWLEDGEMENT_TIMEOUT)
            .map_err(AddressFailure::Broken)?;
        let (stream, identity) = match (self.address.security, &self.name, self.identity()) {
            (Security::Loopback, _, _) => (NetworkStream::Plain(stream), None),
            (Security::Tls, Some(name), Some(identity)) => {
                let connector = TlsConnector::from(Arc::clone(&identity.client));
                let handshake = connector.connect(name.clone(), stream);
                let stream = match timeout(SILENCE_TIMEOUT, handshake).await {
                    Ok(connected) => connected.map_err(AddressFailure::of)?,
                    Err(_) => return Err(AddressFailure::Silent(SILENCE_TIMEOUT)),
                };
                let stream = NetworkStream::Tls(Box::new(TlsStream::Client(stream)));
                (stream, Some(identity))
            }
            // Never without encryption.
            (Security::Tls, _, _) => return Err(AddressFailure::NoIdentity),
        };
        Ok(Connection::new(stream, identity, self.max_frame_bytes))
    }

    /// Connects to one of the addresses that the name stands for. The next call begins with the next one,
    /// so that one that does not answer at all cannot use up every call's time.
    async fn dial(&self) -> io::Result<TcpStream> {
        let host = (self.address.host.as_str(), self.address.port);
        let mut resolved: Vec<SocketAddr> = lookup_host(host).await?.collect();
        if self.address.security == Security::Loopback {
            resolved.retain(|address| address.ip().is_loopback());
        }
        if !resolved.is_empty() {
            let turn = self.turn.fetch_add(1, Ordering::Relaxed) % resolved.len();
            resolved.rotate_left(turn);
        }
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for address in resolved {
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }
}
