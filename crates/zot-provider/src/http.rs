//! The one HTTP client that every model client shares: HTTP/1.1, pooled connections, TLS only when
//! an https address is first used.
//!
//! hyper-util and hyper-rustls open the connections. The exchange itself is our own because hyper
//! passes each chunk through a channel, even in one task: ours saves a quarter of the CPU of a long
//! response (ARCHITECTURE.md has the figures).

mod chunked;
mod connection;
mod dial;
mod exchange;
mod fetch;
mod pool;
mod tls;

use std::io;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::PROXY_AUTHORIZATION;
use http::uri::Scheme;
use http::{HeaderMap, StatusCode, Uri};
use hyper_util::client::legacy::connect::HttpConnector;
use tokio::time::timeout;

use crate::body::RequestBody;
use crate::network::{NetworkSettings, Route};
use crate::retry::{Patience, RetryHeaders};
use connection::{BodyPart, Connection, ExchangeError, Framing, Keep};
use dial::Dialler;
use pool::{Pool, PoolKey};

/// Limit: the request is sent again, as after other connection failures.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Limit: error, not retried.
const RESPONSE_HEADERS_TIMEOUT: Duration = Duration::from_secs(600);

/// Limit: error; the text received so far is kept.
const IDLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How long each phase of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Name lookup, TCP and TLS together.
    pub connect: Duration,
    /// From sending the request to the head of the response: slow models think first.
    pub headers: Duration,
    /// Between two pieces of a response.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: CONNECT_TIMEOUT,
            headers: RESPONSE_HEADERS_TIMEOUT,
            idle: IDLE_TIMEOUT,
        }
    }
}

/// Sends requests. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
    patience: Patience,
    delivery: Delivery,
}

/// How a response is requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Delivery {
    #[default]
    Streamed,
    /// As one JSON document.
    Whole,
}

/// What a request allows, beside its content.
#[derive(Debug, Clone, Copy)]
struct Manner {
    keep: Keep,
    repeat: Repeat,
}

impl Manner {
    const MODEL_CALL: Self = Self {
        keep: Keep::Known,
        repeat: Repeat::Safe,
    };
}

struct Shared {
    timeouts: Timeouts,
    pool: Arc<Pool>,
    dialler: Dialler,
}

/// A request without a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    /// No response in time. A retry would take as long.
    #[error("no response within {limit:?}")]
    Timeout { limit: Duration },
    /// Not connected, or the connection ended before a response began: the request may be repeated.
    #[error("{0}")]
    Connection(String),
    #[error("{0}")]
    Other(String),
}

impl SendError {
    /// Names the proxy in the error.
    fn through(self, proxy: &str) -> Self {
        let named = |cause: String| format!("proxy {proxy}: {cause}");
        match self {
            Self::Connection(cause) => Self::Connection(named(cause)),
            Self::Other(cause) => Self::Other(named(cause)),
            timeout @ Self::Timeout { .. } => timeout,
        }
    }
}

pub use exchange::{ExchangeFailure, ExchangeRequest, ExchangeResponse, Repeat};
pub use fetch::{FetchError, FetchRequest, Fetched};

pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) retry: RetryHeaders,
    /// Where a redirect points to.
    pub(crate) location: Option<String>,
    /// The coding of a compressed body, which we never request.
    pub(crate) compression: Option<String>,
    pub(crate) content_type: Option<String>,
    /// All header fields, where they were asked for.
    all: HeaderMap,
    pub(crate) body: ResponseBody,
}

/// The body of a response. Dropping it before its end closes the connection.
pub(crate) struct ResponseBody {
    connection: Option<Connection>,
    framing: Framing,
    keep_alive: bool,
    pool: Arc<Pool>,
    key: PoolKey,
}

impl HttpClient {
    pub fn new() -> Self {
        Self::with_timeouts(Timeouts::default())
    }

    /// Creates a client with the environment's proxies and certificates.
    pub fn with_timeouts(timeouts: Timeouts) -> Self {
        Self::with_network(timeouts, NetworkSettings::from_environment())
    }

    pub fn with_network(timeouts: Timeouts, network: NetworkSettings) -> Self {
        let mut plain = HttpConnector::new();
        plain.enforce_http(false);
        plain.set_nodelay(true);
        // Shared among a host's addresses, so that an unresponsive one leaves time for the others.
        plain.set_connect_timeout(Some(timeouts.connect));
        Self {
            shared: Arc::new(Shared {
                timeouts,
                pool: Arc::default(),
                dialler: Dialler::new(network, plain),
            }),
            patience: Patience::STANDARD,
            delivery: Delivery::default(),
        }
    }

    /// Retries more often and waits longer: for a front end that shows retries to a person.
    pub fn patient(self) -> Self {
        Self {
            patience: Patience::LONG,
            ..self
        }
    }

    pub(crate) fn patience(&self) -> Patience {
        self.patience
    }

    /// Requests whole responses, for servers that cannot stream. Their text is then one event.
    pub fn unstreamed(self) -> Self {
        Self {
            delivery: Delivery::Whole,
            ..self
        }
    }

    pub(crate) fn delivery(&self) -> Delivery {
        self.delivery
    }

    pub fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }

    /// Posts `body` and waits for the head of the response.
    pub(crate) async fn post(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        body: &RequestBody,
    ) -> Result<Response, SendError> {
        self.send("POST", uri, headers, body, Manner::MODEL_CALL)
            .await
    }

    async fn send(
        &self,
        method: &str,
        uri: &Uri,
        headers: &HeaderMap,
        body: &RequestBody,
        manner: Manner,
    ) -> Result<Response, SendError> {
        let route = self.route(uri)?;
        let head = request_head(method, uri, &route, headers, body.length());
        let key = PoolKey::new(uri);
        loop {
            let (mut connection, reused) =
                match self.shared.pool.take(&key, manner.repeat.idle_time()) {
                    Some(connection) => (connection, true),
                    None => (self.dial(uri, &route).await?, false),
                };
            connection.keep(manner.keep);
            let limit = self.shared.timeouts.headers;
            let error = match timeout(limit, connection.exchange(head.clone(), body)).await {
                Ok(Ok(response_head)) => {
                    return Ok(Response {
                        status: response_head.status,
                        retry: response_head.retry,
                        location: response_head.location,
                        compression: response_head.compression,
                        content_type: response_head.content_type,
                        all: response_head.all,
                        body: ResponseBody {
                            connection: Some(connection),
                            framing: response_head.framing,
                            keep_alive: response_head.keep_alive,
                            pool: Arc::clone(&self.shared.pool),
                            key,
                        },
                    });
                }
                Ok(Err(error)) => error,
                Err(_) => return Err(SendError::Timeout { limit }),
            };
            match error {
                // The server closed an idle connection just as it was reused.
                ExchangeError::NoResponse(_) if reused && manner.repeat == Repeat::Safe => {}
                ExchangeError::NoResponse(_) => {
                    return Err(SendError::Connection(error.to_string()));
                }
                _ => return Err(SendError::Other(error.to_string())),
            }
        }
    }

    /// Opens a connection to the host of `uri` and closes it again.
    pub(crate) async fn check(&self, uri: &Uri) -> Result<(), String> {
        let opened = async { self.dial(uri, &self.route(uri)?).await };
        opened.await.map(drop).map_err(|error| error.to_string())
    }

    fn route(&self, uri: &Uri) -> Result<Route, SendError> {
        let route = self.shared.dialler.network.route(uri);
        route.map_err(|error| SendError::Other(error.to_string()))
    }

    async fn dial(&self, uri: &Uri, route: &Route) -> Result<Connection, SendError> {
        let limit = self.shared.timeouts.connect;
        let connect = self.shared.dialler.connect(uri.clone(), route);
        match timeout(limit, connect).await {
            Ok(connected) => connected,
            Err(_) => Err(SendError::Connection(format!(
                "no connection within {limit:?}"
            ))),
        }
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponseBody {
    /// Hands the next data to `sink`; `None` at the end.
    pub(crate) fn poll_data(
        &mut self,
        context: &mut Context<'_>,
        mut sink: impl FnMut(&[u8]),
    ) -> Poll<Option<io::Result<()>>> {
        let Some(connection) = &mut self.connection else {
            return Poll::Ready(None);
        };
        let part = ready!(connection.poll_body(context, &mut self.framing, &mut sink));
        match part {
            Ok(BodyPart::More) => {}
            Ok(BodyPart::End) => self.release(),
            Err(error) => {
                self.connection = None;
                return Poll::Ready(Some(Err(error)));
            }
        }
        Poll::Ready(Some(Ok(())))
    }

    fn release(&mut self) {
        if let Some(connection) = self.connection.take()
            && self.keep_alive
            && connection.is_reusable()
        {
            self.pool.put(self.key.clone(), connection);
        }
    }
}

fn request_head(
    method: &str,
    uri: &Uri,
    route: &Route,
    headers: &HeaderMap,
    length: usize,
) -> Bytes {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    // User information is not part of the host.
    let host = authority.rsplit('@').next().unwrap_or_default();
    // Without a tunnel the proxy needs the full address.
    let proxy = match route {
        Route::Through(proxy) if uri.scheme() != Some(&Scheme::HTTPS) => Some(proxy),
        _ => None,
    };
    let origin = match proxy {
        Some(_) => format!("http://{host}"),
        None => String::new(),
    };
    let mut head = Vec::with_capacity(512);
    head.extend_from_slice(format!("{method} {origin}{path} HTTP/1.1\r\nhost: ").as_bytes());
    head.extend_from_slice(host.as_bytes());
    match method {
        "GET" => head.extend_from_slice(b"\r\n"),
        _ => head.extend_from_slice(format!("\r\ncontent-length: {length}\r\n").as_bytes()),
    }
    let authorization = proxy.and_then(|proxy| proxy.authorization.as_ref());
    let authorization = authorization.map(|value| (&PROXY_AUTHORIZATION, value));
    for (name, value) in headers.iter().chain(authorization) {
        head.extend_from_slice(name.as_str().as_bytes());
        head.extend_from_slice(b": ");
        head.extend_from_slice(value.as_bytes());
        head.extend_from_slice(b"\r\n");
    }
    head.extend_from_slice(b"\r\n");
    head.into()
}
