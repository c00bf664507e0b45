//! The temporary server of a login: on 127.0.0.1 only, for one browser.
//!
//! Requests for another host are refused, so that a host name that resolves to 127.0.0.1 (DNS
//! rebinding) gets nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::Ipv4Addr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, ORIGIN,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zot_http_server::{Body, Bytes, Limits, Server};

use crate::oauth::form::decoded;

/// Connections at a time; browsers open some they never use.
///
/// Limit: the oldest connection without a request is closed.
const MAX_LOOPBACK_CONNECTIONS: usize = 16;

/// How long a request may take to arrive, and its response to be taken.
///
/// Limit: the request is dropped.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The head of a request, with everything a browser sends.
///
/// Limit: status 431.
const MAX_LOOPBACK_HEAD_BYTES: usize = 16 * 1024;

/// Limit: status 431.
const MAX_LOOPBACK_HEADERS: usize = 64;

/// The body of a request: a form with a key.
///
/// Limit: status 413.
const MAX_LOOPBACK_BODY_BYTES: usize = 64 * 1024;

/// How long the last response may take to be written.
const LOOPBACK_ENDING_TIME: Duration = Duration::from_secs(1);

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 32;

const LIMITS: Limits = Limits {
    connections: MAX_LOOPBACK_CONNECTIONS,
    head_bytes: MAX_LOOPBACK_HEAD_BYTES,
    headers: MAX_LOOPBACK_HEADERS,
    body_bytes: MAX_LOOPBACK_BODY_BYTES,
    read_time: EXCHANGE_TIMEOUT,
    write_time: EXCHANGE_TIMEOUT,
    ending_time: LOOPBACK_ENDING_TIME,
};

/// Responses must not be cached, framed or load anything, and each ends its connection.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_TYPE, "text/html; charset=utf-8"),
    (CONNECTION, "close"),
    (CACHE_CONTROL, "no-store"),
    (REFERRER_POLICY, "same-origin"),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; \
         frame-ancestors 'none'; base-uri 'none'",
    ),
];

/// An HTTP server on a port of 127.0.0.1.
pub struct LoopbackServer {
    port: u16,
    requests: mpsc::Receiver<LoopbackRequest>,
    server: JoinSet<()>,
    cancel: CancellationToken,
}

/// A request that waits for its response.
pub struct LoopbackRequest {
    pub method: String,
    pub path: String,
    pub query: Vec<(String, String)>,
    pub form: Vec<(String, String)>,
    reply: oneshot::Sender<LoopbackReply>,
}

/// A response.
pub struct LoopbackReply {
    status: StatusCode,
    html: String,
}

impl LoopbackReply {
    /// Returns a page with a heading and a sentence.
    pub fn message(title: &str, text: &str) -> Self {
        Self::page(crate::key_page::page(title, text))
    }

    pub(crate) fn page(html: String) -> Self {
        Self {
            status: StatusCode::OK,
            html,
        }
    }

    pub fn not_found() -> Self {
        Self {
            status: StatusCode::NOT_FOUND,
            html: String::new(),
        }
    }

    fn forbidden() -> Self {
        Self {
            status: StatusCode::FORBIDDEN,
            html: String::new(),
        }
    }

    fn into_response(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.html));
        *response.status_mut() = self.status;
        response
    }
}

impl LoopbackServer {
    /// Listens on `port`; 0 chooses a free one. Must be called within a tokio runtime.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let port = listener.local_addr()?.port();
        let (sender, requests) = mpsc::channel(MAX_LOOPBACK_CONNECTIONS);
        let headers: HeaderMap = HEADERS
            .into_iter()
            .map(|(name, value)| (name, HeaderValue::from_static(value)))
            .collect();
        let cancel = CancellationToken::new();
        let handler = move |request: http::Request<Bytes>| {
            let sender = sender.clone();
            async move { respond(request, port, sender).await.into_response() }
        };
        let mut server = JoinSet::new();
        server.spawn(Server::new(listener, LIMITS, headers).serve(handler, cancel.clone()));
        Ok(Self {
            port,
            requests,
            server,
            cancel,
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the next request that a browser on this machine made for this server.
    pub async fn next(&mut self) -> io::Result<LoopbackRequest> {
        let request = self.requests.recv().await;
        request.ok_or_else(|| io::ErrorKind::ConnectionAborted.into())
    }

    /// Stops listening once the responses are written.
    pub async fn close(mut self) {
        self.cancel.cancel();
        // Pending requests get no response.
        self.requests.close();
        while self.requests.recv().await.is_some() {}
        while self.server.join_next().await.is_some() {}
    }
}

/// Passes a request to the caller of [`LoopbackServer::next`], and waits for the reply.
async fn respond(
    request: http::Request<Bytes>,
    port: u16,
    sender: mpsc::Sender<LoopbackRequest>,
) -> LoopbackReply {
    if !is_for_us(request.headers(), port) {
        return LoopbackReply::forbidden();
    }
    let (reply, answered) = oneshot::channel();
    let request = LoopbackRequest {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: decoded(request.uri().query().unwrap_or_default()),
        form: decoded(&String::from_utf8_lossy(request.body())),
        reply,
    };
    if sender.send(request).await.is_err() {
        return LoopbackReply::not_found();
    }
    answered
        .await
        .unwrap_or_else(|_| LoopbackReply::not_found())
}

fn is_for_us(headers: &HeaderMap, port: u16) -> bool {
    let ours =
        |host: &str| host == format!("127.0.0.1:{port}") || host == format!("localhost:{port}");
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let mut hosts = headers.get_all(HOST).iter();
    let is_host_ours = match (hosts.next(), hosts.next()) {
        (Some(host), None) => ours(&text(host)),
        _ => false,
    };
    let are_origins_ours = headers.get_all(ORIGIN).iter().all(|origin| {
        let origin = text(origin);
        origin.strip_prefix("http://").is_some_and(ours)
    });
    is_host_ours && are_origins_ours
}

impl LoopbackRequest {
    pub(crate) fn field(&self, name: &str) -> &str {
        let mut fields = self.form.iter();
        let found = fields.find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// Sends the reply. A browser that has gone away does not need it.
    pub fn answer(self, reply: LoopbackReply) {
        let _ = self.reply.send(reply);
    }
}

/// Returns a text that cannot be guessed. `/dev/urandom` exists on every system zot runs on, and never
/// blocks once the system is up.
pub fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares in constant time.
pub fn same_secret(left: &str, right: &str) -> bool {
    let (left, right) = (Sha256::digest(left), Sha256::digest(right));
    left.as_slice().ct_eq(right.as_slice()).into()
}
