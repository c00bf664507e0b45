//! The addresses of a service: which one a call is sent to, and when it is sent to another.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustls::pki_types::ServerName;
use zot_wire::zino::{Frame, Response};

use super::destination::Destination;
use super::error::{AddressError, AddressFailure, CallError, LinkError, Unreachable};
use super::kept::{Connection, NotSent};
use super::socket::SocketCall;
use crate::config::address::{Address, Security};
use crate::network::failure::TlsFailure;
use crate::network::identity::LiveIdentity;

/// All addresses of one service.
pub(super) struct Route {
    stops: Vec<Stop>,
    /// Which address the next call begins with.
    turn: AtomicUsize,
    max_frame_bytes: usize,
}

enum Stop {
    Socket(PathBuf),
    Network(Arc<Destination>),
}

/// A response that is being received from one of the addresses.
pub(super) enum RoutedCall {
    Socket(SocketCall),
    Kept(KeptCall),
}

/// What is known about a request that got no response.
enum Fate {
    NotReceived(AddressFailure),
    Unknown(AddressFailure),
}

impl Stop {
    fn address(&self) -> Address {
        match self {
            Self::Socket(path) => Address::Unix(path.clone()),
            Self::Network(destination) => Address::Network(destination.address.clone()),
        }
    }

    fn is_penalised(&self) -> bool {
        match self {
            Self::Socket(_) => false,
            Self::Network(destination) => destination.is_penalised(),
        }
    }
}

impl Route {
    /// `service` is the name of the service on the wire.
    pub(super) fn new(
        service: &str,
        addresses: &[Address],
        identity: Option<&LiveIdentity>,
        max_frame_bytes: usize,
    ) -> Self {
        let stop = |address: &Address| match address {
            Address::Unix(path) => Stop::Socket(path.clone()),
            Address::Network(address) => {
                let identity = identity.filter(|_| address.security == Security::Tls);
                let name = identity
                    .map(|identity| identity.certificate_name(service))
                    .and_then(|name| ServerName::try_from(name).ok());
                Stop::Network(Arc::new(Destination::new(
                    address.clone(),
                    name,
                    identity.cloned(),
                    max_frame_bytes,
                )))
            }
        };
        Self {
            stops: addresses.iter().map(stop).collect(),
            turn: AtomicUsize::new(0),
            max_frame_bytes,
        }
    }

    /// The addresses in the order in which this call tries them: in turn, those that failed lately last.
    fn order(&self) -> Vec<&Stop> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.stops.len().max(1);
        let (before, after) = self.stops.split_at(turn);
        let mut order: Vec<&Stop> = after.iter().chain(before).collect();
        order.sort_by_key(|stop| stop.is_penalised());
        order
    }

    /// Sends a request and waits for the first frame of its response. Another address is tried if the
    /// service has certainly not received the request, or if receiving it twice does no harm.
    pub(super) async fn begin(
        &self,
        request: &[u8],
        is_repeatable: bool,
    ) -> Result<RoutedCall, CallError> {
        let mut failures = Vec::new();
        let attempt = Attempt {
            request,
            is_repeatable,
            is_only_address: self.stops.len() == 1,
        };
        for stop in self.order() {
            let fate = match stop {
                Stop::Socket(path) => {
                    match SocketCall::begin(path, request, self.max_frame_bytes).await {
                        Ok(call) => return Ok(RoutedCall::Socket(call)),
                        Err(CallError::Unreachable(Unreachable::Socket(error))) => {
                            Fate::NotReceived(AddressFailure::Connect(error))
                        }
                        Err(error) => return Err(error),
                    }
                }
                Stop::Network(destination) => {
                    destination.try_cautiously();
                    match attempt.at(destination).await {
                        Ok(call) => {
                            destination.forgive();
                            return Ok(RoutedCall::Kept(call));
                        }
                        Err(fate) => {
                            destination.penalise();
                            fate
                        }
                    }
                }
            };
            let at = |failure| AddressError {
                address: stop.address(),
                failure,
            };
            match fate {
                Fate::Unknown(failure) if !is_repeatable => {
                    return Err(CallError::OutcomeUnknown(LinkError::Address(at(failure))));
                }
                Fate::Unknown(failure) | Fate::NotReceived(failure) => failures.push(at(failure)),
            }
        }
        Err(CallError::Unreachable(Unreachable::Addresses(failures)))
    }
}

/// A request to be sent to one address.
struct Attempt<'a> {
    request: &'a [u8],
    is_repeatable: bool,
    is_only_address: bool,
}

impl Attempt<'_> {
    /// Calls the service over a kept connection, and if that turns out to be dead, over a new one.
    async fn at(&self, destination: &Arc<Destination>) -> Result<KeptCall, Fate> {
        let fate = match destination.kept().await {
            Ok(Some(connection)) => match exchange(destination, connection, self.request).await {
                Ok(call) => return Ok(call),
                Err(fate) => Some(fate),
            },
            Ok(None) => None,
            Err(failure) => Some(Fate::NotReceived(failure)),
        };
        match fate {
            Some(fate) if !self.is_worth_a_connection(&fate) => Err(fate),
            _ => {
                let connection = destination.connect().await.map_err(Fate::NotReceived)?;
                exchange(destination, connection, self.request).await
            }
        }
    }

    /// Whether a new connection to the address may do what a kept one could not.
    fn is_worth_a_connection(&self, fate: &Fate) -> bool {
        let (failure, may_be_sent) = match fate {
            Fate::NotReceived(failure) => (failure, true),
            Fate::Unknown(failure) => (failure, self.is_repeatable),
        };
        // A service that was restarted closes its connections; one that is silent is better left alone.
        let is_closed = matches!(
            failure,
            AddressFailure::Closed | AddressFailure::Closing | AddressFailure::Broken(_)
        );
        may_be_sent && (is_closed || self.is_only_address)
    }
}

async fn exchange(
    destination: &Arc<Destination>,
    mut connection: Connection,
    request: &[u8],
) -> Result<KeptCall, Fate> {
    let received = match connection.send(request).await {
        Ok(()) => connection.first_frame().await,
        Err(NotSent(failure)) => match connection.last_words(failure).await {
            Ok(frame) => Ok(Some(frame)),
            Err(failure) => return Err(Fate::NotReceived(failure)),
        },
    };
    let first = match received {
        Ok(first) => first,
        // Nothing is read from a caller whose certificate was refused, nor while closing.
        Err(failure @ (AddressFailure::Tls(TlsFailure::Refused(_)) | AddressFailure::Closing)) => {
            return Err(Fate::NotReceived(failure));
        }
        Err(failure) => return Err(Fate::Unknown(failure)),
    };
    let mut call = KeptCall {
        destination: Arc::clone(destination),
        connection: Some(connection),
        first: None,
    };
    match first {
        Some(frame) => call.first = Some(frame),
        None => call.keep(),
    }
    Ok(call)
}

/// A response that is being received on a kept connection.
pub(super) struct KeptCall {
    destination: Arc<Destination>,
    /// `None` once the response has ended.
    connection: Option<Connection>,
    /// The first frame, until it is returned.
    first: Option<Frame>,
}

impl KeptCall {
    pub(super) async fn next<T: Response>(&mut self) -> Result<Option<T>, CallError> {
        if let Some(frame) = self.first.take() {
            return Ok(Some(T::read(frame)));
        }
        let Some(connection) = &mut self.connection else {
            return Ok(None);
        };
        match connection.next_frame().await {
            Ok(Some(frame)) => Ok(Some(T::read(frame))),
            Ok(None) => {
                self.keep();
                Ok(None)
            }
            Err(failure) => {
                self.connection = None;
                self.destination.penalise();
                Err(CallError::Lost(LinkError::Address(AddressError {
                    address: Address::Network(self.destination.address.clone()),
                    failure,
                })))
            }
        }
    }

    /// Reads the end of a response of one frame, so that the connection can be kept.
    pub(super) async fn finish(&mut self) {
        if let Some(connection) = &mut self.connection
            && connection.finish().await
        {
            self.keep();
        }
    }

    fn keep(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.destination.keep(connection);
        }
    }
}

impl Drop for KeptCall {
    /// Closes the connection, which cancels the request, unless its response is complete: callers seldom
    /// read further than the last frame.
    fn drop(&mut self) {
        if self.first.is_none()
            && let Some(mut connection) = self.connection.take()
            && connection.has_ended()
        {
            self.destination.keep(connection);
        }
    }
}
