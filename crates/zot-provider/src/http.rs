//! The one HTTP client that every model client shares: HTTP/1.1, pooled connections, TLS only when
//! an https address is first asked for.
//!
//! Proxy variables will be honoured here: the connectors below are the only place that dials.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::uri::Scheme;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

use crate::body::RequestBody;
use crate::error::cause_chain;

/// Environment variables that replace the system's certificate store.
const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Idle connections are closed before the servers in front of most providers close them.
const POOL_IDLE: Duration = Duration::from_secs(60);

/// More parallel calls than this to one provider are rare; further connections are not kept.
const POOL_MAX_IDLE_PER_HOST: usize = 8;

/// How long each phase of a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    pub connect: Duration,
    /// From sending the request to the status line: slow models think before they answer.
    pub headers: Duration,
    /// Between two pieces of an answer.
    pub idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            headers: Duration::from_secs(600),
            idle: Duration::from_secs(120),
        }
    }
}

/// Sends requests. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct HttpClient {
    shared: Arc<Shared>,
}

struct Shared {
    timeouts: Timeouts,
    plain: Client<HttpConnector, RequestBody>,
    secure: OnceCell<Client<HttpsConnector<HttpConnector>, RequestBody>>,
}

/// A request that got no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error("no answer within {0:?}")]
    Timeout(Duration),
    #[error("{0}")]
    Tls(String),
    /// Not connected, or the connection ended before an answer began: the request may be repeated.
    #[error("{0}")]
    Connection(String),
    #[error("{0}")]
    Other(String),
}

impl HttpClient {
    pub fn new() -> Self {
        Self::with_timeouts(Timeouts::default())
    }

    pub fn with_timeouts(timeouts: Timeouts) -> Self {
        Self {
            shared: Arc::new(Shared {
                timeouts,
                plain: pooled().build(connector(timeouts)),
                secure: OnceCell::new(),
            }),
        }
    }

    pub fn timeouts(&self) -> Timeouts {
        self.shared.timeouts
    }

    pub(crate) async fn send(
        &self,
        request: Request<RequestBody>,
    ) -> Result<Response<Incoming>, SendError> {
        let timeout = self.shared.timeouts.headers;
        let response = if request.uri().scheme() == Some(&Scheme::HTTPS) {
            self.secure().await?.request(request)
        } else {
            self.shared.plain.request(request)
        };
        match tokio::time::timeout(timeout, response).await {
            Err(_) => Err(SendError::Timeout(timeout)),
            Ok(Ok(response)) => Ok(response),
            Ok(Err(error)) => Err(classify(&error)),
        }
    }

    async fn secure(
        &self,
    ) -> Result<&Client<HttpsConnector<HttpConnector>, RequestBody>, SendError> {
        self.shared
            .secure
            .get_or_try_init(|| async {
                // Reading the certificate store takes tens of milliseconds of file I/O.
                let config = tokio::task::spawn_blocking(tls_config)
                    .await
                    .map_err(|error| SendError::Tls(error.to_string()))??;
                let connector = HttpsConnectorBuilder::new()
                    .with_tls_config(config)
                    .https_only()
                    .enable_http1()
                    .wrap_connector(connector(self.shared.timeouts));
                Ok(pooled().build(connector))
            })
            .await
    }
}

impl Default for HttpClient {
    fn default() -> Self {
        Self::new()
    }
}

fn pooled() -> hyper_util::client::legacy::Builder {
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .pool_timer(TokioTimer::new())
        .pool_idle_timeout(POOL_IDLE)
        .pool_max_idle_per_host(POOL_MAX_IDLE_PER_HOST);
    builder
}

fn connector(timeouts: Timeouts) -> HttpConnector {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    connector.set_connect_timeout(Some(timeouts.connect));
    connector
}

fn tls_config() -> Result<ClientConfig, SendError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    // A file named by the user adds to the public authorities instead of replacing them, and a
    // system without a certificate store still reaches every provider.
    let replaced = CERTIFICATE_VARIABLES
        .iter()
        .any(|name| std::env::var_os(name).is_some());
    if replaced || roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| SendError::Tls(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth())
}

fn classify(error: &hyper_util::client::legacy::Error) -> SendError {
    // The outermost text only says that a client failed.
    let text = error
        .source()
        .map_or_else(|| error.to_string(), |cause| cause_chain(cause));
    if error.is_connect() {
        // A certificate that is refused once is refused again.
        let refused = find_cause::<rustls::Error>(error).is_some();
        return match refused {
            true => SendError::Tls(text),
            false => SendError::Connection(text),
        };
    }
    let ended = find_cause::<hyper::Error>(error).is_some_and(|cause| {
        cause.is_incomplete_message() || cause.is_canceled() || cause.is_closed()
    });
    let broken = find_cause::<io::Error>(error).is_some_and(|cause| {
        matches!(
            cause.kind(),
            io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
                | io::ErrorKind::UnexpectedEof
                | io::ErrorKind::NotConnected
        )
    });
    if ended || broken {
        SendError::Connection(text)
    } else {
        SendError::Other(text)
    }
}

fn find_cause<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        // An `io::Error` hides the error it wraps from `source`'s chain head.
        if let Some(inner) = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::get_ref)
            && let Some(found) = inner.downcast_ref()
        {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
