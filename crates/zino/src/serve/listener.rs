//! A service's address on the network: connections are accepted and their certificates checked.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::{TlsAcceptor, TlsStream};

use super::caller::{AllowTable, Caller};
use super::kept::KeptConnection;
use crate::config::Config;
use crate::config::address::{NetworkAddress, Security};
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::network::certificate::Certificate;
use crate::network::failure::TlsFailure;
use crate::network::identity::LiveIdentity;
use crate::network::options::{self, RESPONSE_ACKNOWLEDGEMENT_TIMEOUT};
use crate::network::stream::NetworkStream;

/// How many callers may wait to be accepted; the system may allow fewer.
///
/// Limit: further callers wait to connect.
const NETWORK_QUEUE_LENGTH: u32 = 1024;

/// How long a caller may take to agree on keys. Our own callers give up earlier.
///
/// Limit: a connection without a handshake is closed.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(3);

/// How long a refused caller may take to read why.
const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Why a service cannot listen on an address.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    #[error("cannot listen on {address}: {source}")]
    Listen {
        address: NetworkAddress,
        source: io::Error,
    },
    #[error("cannot listen on {0}: [tls] has no certificate")]
    NoIdentity(NetworkAddress),
}

/// A service's address on the network.
pub struct NetworkListener {
    listener: TcpListener,
    /// The address with the port that the system chose.
    address: NetworkAddress,
    /// `None` on plain TCP.
    guard: Option<Guard>,
}

/// What callers must show.
#[derive(Clone)]
struct Guard {
    identity: LiveIdentity,
    table: Arc<AllowTable>,
}

impl NetworkListener {
    /// Listens where `[listen]` says, if it names the service.
    pub async fn bind(
        config: &Config,
        kind: ServiceKind,
        identity: Option<&LiveIdentity>,
    ) -> Result<Option<Self>, ListenError> {
        let Some(address) = config.listen_address(kind) else {
            return Ok(None);
        };
        let guard = match (address.security, identity) {
            (Security::Loopback, _) => None,
            (Security::Tls, Some(identity)) => Some(Guard {
                identity: identity.clone(),
                table: Arc::new(AllowTable::of(config, kind)),
            }),
            (Security::Tls, None) => return Err(ListenError::NoIdentity(address.clone())),
        };
        let listen = |source| ListenError::Listen {
            address: address.clone(),
            source,
        };
        let listener = bind(address).await.map_err(listen)?;
        let port = listener.local_addr().map_err(listen)?.port();
        Ok(Some(Self {
            listener,
            address: NetworkAddress {
                port,
                ..address.clone()
            },
            guard,
        }))
    }

    pub fn address(&self) -> &NetworkAddress {
        &self.address
    }

    pub(super) async fn accept(&self) -> io::Result<Arrival> {
        let (stream, from) = self.listener.accept().await?;
        Ok(Arrival {
            stream,
            from,
            guard: self.guard.clone(),
        })
    }
}

async fn bind(address: &NetworkAddress) -> io::Result<TcpListener> {
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for resolved in lookup_host((address.host.as_str(), address.port)).await? {
        // What `localhost` is, only the system knows.
        if address.security == Security::Loopback && !resolved.ip().is_loopback() {
            continue;
        }
        match listen(resolved) {
            Ok(listener) => return Ok(listener),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A restarted service need not wait for its predecessor's connections to fade.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(NETWORK_QUEUE_LENGTH)
}

/// A connection whose caller is not known yet.
pub(super) struct Arrival {
    stream: TcpStream,
    from: SocketAddr,
    guard: Option<Guard>,
}

impl Arrival {
    /// Checks the caller's certificate. A caller without one that we trust is refused and logged.
    pub(super) async fn admit(self, crowded: Arc<Notify>, log: Log) -> Option<KeptConnection> {
        let from = self.from;
        if let Err(error) = options::prepare(&self.stream, RESPONSE_ACKNOWLEDGEMENT_TIMEOUT) {
            log.debug(format_args!(
                "{from}: the connection ended at once: {error}"
            ));
            return None;
        }
        let Some(guard) = self.guard else {
            let stream = NetworkStream::Plain(self.stream);
            return Some(KeptConnection::new(stream, Caller::Local, None, crowded));
        };
        // Before the handshake: a change during it must not go unnoticed.
        let identity = guard.identity.follow();
        let server = Arc::clone(&identity.borrow().server);
        let handshake = TlsAcceptor::from(server)
            .accept(self.stream)
            .into_fallible();
        let stream = match timeout(HANDSHAKE_TIMEOUT, handshake).await {
            Ok(Ok(stream)) => stream,
            Ok(Err((error, stream))) => {
                match TlsFailure::of(&error) {
                    Some(failure) => log.warning(format_args!("refused {from}: {failure}")),
                    None => log.debug(format_args!("{from}: the handshake broke: {error}")),
                }
                linger(stream).await;
                return None;
            }
            Err(_) => {
                log.warning(format_args!(
                    "refused {from}: no handshake within {} s",
                    HANDSHAKE_TIMEOUT.as_secs()
                ));
                return None;
            }
        };
        let certificates = stream.get_ref().1.peer_certificates().unwrap_or_default();
        let names = certificates
            .first()
            .and_then(|certificate| Certificate::decode(certificate).ok())
            .map(|certificate| certificate.names)
            .unwrap_or_default();
        let caller = Caller::Certified {
            names,
            table: guard.table,
        };
        let stream = NetworkStream::Tls(Box::new(TlsStream::Server(stream)));
        Some(KeptConnection::new(stream, caller, Some(identity), crowded))
    }
}

/// Lets the caller read the alert: closing a connection with unread bytes would discard it.
async fn linger(mut stream: TcpStream) {
    let mut buffer = [0; 1024];
    let discarded = async {
        stream.shutdown().await?;
        while stream.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(REFUSAL_TIME, discarded).await;
}
