//! Clients over streamable HTTP, on this machine only.
//!
//! A request of the modern era stands for itself, and closing its stream cancels it. Legacy clients get a
//! session with `initialize`, and cancel with a message. There is no stream for messages without a
//! request: this server has none to send.

mod access;
mod headers;
mod sessions;
mod stream;
mod token;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_http_server::http::{Method, Request as HttpRequest, Response, StatusCode};
use zot_http_server::{Body, Bytes, Limits};
use zot_mcp::json_rpc::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, RequestId, RpcError, UNSUPPORTED_VERSION,
};
use zot_mcp::version::Era;
use zot_stdio::signals::SIGNAL_GRACE;

use crate::call::{Call, Exchange};
use crate::connection::Connection;
use crate::frame::{ClientMessage, Malformed, decode, error, error_frame, response_frame};
use crate::jobs::{JobRunner, Jobs};
use crate::request::{ClientAbilities, Request, stated_version};
use crate::service::{Reply, Service};

use access::Access;
use headers::{accepts_events, check_modern, is_json, version_header};
use sessions::{Session, Sessions};
use stream::{common_headers, events, failure, frame, status};
pub(crate) use token::random_hex;
pub use token::{Token, TokenError};

/// The path of the endpoint.
pub(crate) const ENDPOINT: &str = "/mcp";

/// How many clients may be connected.
///
/// Limit: the oldest connection without a request is closed; if all have one, the next gets status 503.
const MAX_CLIENT_CONNECTIONS: usize = 128;

/// How long the head of a request may be.
///
/// Limit: status 431.
const MAX_CLIENT_HEAD_BYTES: usize = 32 * 1024;

/// How many header fields a request may have.
///
/// Limit: status 431.
const MAX_CLIENT_HEADERS: usize = 64;

/// How long a message may be.
///
/// Limit: status 413.
const MAX_CLIENT_BODY_BYTES: usize = 8 * 1024 * 1024;

/// How long a client may take to send a request, and how long an idle connection is kept.
///
/// Limit: status 408, or the connection is closed.
const CLIENT_READ_TIME: Duration = Duration::from_secs(60);

/// How long a client may read nothing of a response.
///
/// Limit: the client is disconnected.
const CLIENT_WRITE_TIME: Duration = Duration::from_secs(30);

/// How long responses may take to end when the server does.
const SERVER_ENDING_TIME: Duration = Duration::from_secs(1);

/// How many messages of a request wait for its client.
///
/// Limit: the request waits until the client has read.
const STREAM_LENGTH: usize = 16;

const LIMITS: Limits = Limits {
    connections: MAX_CLIENT_CONNECTIONS,
    head_bytes: MAX_CLIENT_HEAD_BYTES,
    headers: MAX_CLIENT_HEADERS,
    body_bytes: MAX_CLIENT_BODY_BYTES,
    read_time: CLIENT_READ_TIME,
    write_time: CLIENT_WRITE_TIME,
    ending_time: SERVER_ENDING_TIME,
};

/// Why the server cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// Others could reach it.
    #[error(
        "{0} can be reached from other machines: use 127.0.0.1 or [::1], and a tunnel such as ssh -L from elsewhere"
    )]
    NotLoopback(SocketAddr),
    /// The system refuses it.
    #[error("cannot listen on {address}: {source}; port 0 chooses a free one")]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}

/// A server for clients that know the token.
pub struct HttpServer {
    listener: TcpListener,
    address: SocketAddr,
    endpoint: Arc<Endpoint>,
    runner: JobRunner,
}

struct Endpoint {
    service: Arc<Service>,
    access: Access,
    sessions: Sessions,
    jobs: Jobs,
}

impl HttpServer {
    /// Listens on a loopback address.
    pub async fn bind(
        address: SocketAddr,
        service: Service,
        token: Token,
    ) -> Result<Self, AddressError> {
        if !address.ip().is_loopback() {
            return Err(AddressError::NotLoopback(address));
        }
        let failed = |source| AddressError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (jobs, runner) = JobRunner::new();
        Ok(Self {
            listener,
            address,
            endpoint: Arc::new(Endpoint {
                service: Arc::new(service),
                access: Access::new(token),
                sessions: Sessions::default(),
                jobs,
            }),
            runner,
        })
    }

    /// Returns the address of the endpoint.
    pub fn url(&self) -> String {
        format!("http://{}{ENDPOINT}", self.address)
    }

    /// Serves until cancelled, then ends what runs in good order.
    pub async fn run(self, cancel: CancellationToken) {
        let Self {
            listener,
            endpoint,
            mut runner,
            ..
        } = self;
        let handler = {
            let endpoint = Arc::clone(&endpoint);
            move |request: HttpRequest<Bytes>| {
                let endpoint = Arc::clone(&endpoint);
                async move { endpoint.respond(request).await }
            }
        };
        let server = zot_http_server::Server::new(listener, LIMITS, common_headers());
        let serving = server.serve(handler, cancel.clone());
        tokio::pin!(serving);
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                () = &mut serving => break,
                () = runner.step() => {}
            }
        }
        endpoint.sessions.close_all();
        endpoint.service.suspended.end_all();
        // The work of modern clients ends with their connections.
        let ended = async {
            tokio::join!(serving, async {
                runner.finish(SIGNAL_GRACE).await;
                endpoint.service.close().await;
            });
        };
        let _ = tokio::time::timeout(SIGNAL_GRACE + SERVER_ENDING_TIME, ended).await;
    }
}

impl Endpoint {
    async fn respond(self: Arc<Self>, request: HttpRequest<Bytes>) -> Response<Body> {
        if let Some(refusal) = self.access.refusal(&request) {
            return refusal;
        }
        if request.uri().path() != ENDPOINT {
            return failure(StatusCode::NOT_FOUND, "the endpoint is /mcp");
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::DELETE => self.end_session(&request),
            _ => failure(
                StatusCode::METHOD_NOT_ALLOWED,
                "only POST, and DELETE to end a session",
            ),
        }
    }

    async fn post(self: Arc<Self>, http: HttpRequest<Bytes>) -> Response<Body> {
        if !is_json(http.headers()) {
            return failure(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "expected Content-Type: application/json",
            );
        }
        match decode(http.body()) {
            Ok(ClientMessage::Request { id, method, params }) => {
                self.request(&http, id, method, params).await
            }
            Ok(ClientMessage::Notification { method, params }) => {
                self.notification(&http, &method, &params)
            }
            Ok(ClientMessage::Response { id, result }) => {
                match self.sessions.find(http.headers()) {
                    Ok(session) => {
                        session.connection.answer(&id, result);
                        status(StatusCode::ACCEPTED)
                    }
                    Err(missing) => missing.response(None),
                }
            }
            Err(Malformed { id, error }) => {
                frame(StatusCode::BAD_REQUEST, &error_frame(id.as_ref(), &error))
            }
        }
    }

    fn notification(
        &self,
        http: &HttpRequest<Bytes>,
        method: &str,
        params: &Map<String, Value>,
    ) -> Response<Body> {
        // Only legacy clients have something to notify us of.
        if Sessions::is_named(http.headers()) {
            match self.sessions.find(http.headers()) {
                Ok(session) if method == "notifications/cancelled" => {
                    session.connection.cancel(params);
                }
                Ok(_) => {}
                Err(missing) => return missing.response(None),
            }
        }
        status(StatusCode::ACCEPTED)
    }

    fn end_session(&self, http: &HttpRequest<Bytes>) -> Response<Body> {
        match self.sessions.end(http.headers()) {
            Ok(()) => status(StatusCode::NO_CONTENT),
            Err(missing) => missing.response(None),
        }
    }

    async fn request(
        self: Arc<Self>,
        http: &HttpRequest<Bytes>,
        id: RequestId,
        method: String,
        params: Map<String, Value>,
    ) -> Response<Body> {
        let is_modern = stated_version(&params).is_some()
            || version_header(http.headers()) == Ok(Some(zot_mcp::version::MODERN_VERSION));
        if is_modern {
            return self.modern(http, id, method, params).await;
        }
        if let Err(problem) = headers::check_legacy(http.headers()) {
            return refused(&id, &problem);
        }
        if method == "initialize" {
            return self.initialize(&id, &params);
        }
        let session = match self.sessions.find(http.headers()) {
            Ok(session) => session,
            // Neither era: a client that says nothing about itself.
            Err(_) if !Sessions::is_named(http.headers()) => {
                return match Request::modern(method, params) {
                    Ok(_) => failure(StatusCode::BAD_REQUEST, "the Mcp-Session-Id is missing"),
                    Err(problem) => refused(&id, &problem),
                };
            }
            Err(missing) => return missing.response(Some(&id)),
        };
        let request = Request::legacy(method, params, session.abilities);
        let connection = Arc::clone(&session.connection);
        self.answer(http, id, request, connection, Some(session))
            .await
    }

    async fn modern(
        self: Arc<Self>,
        http: &HttpRequest<Bytes>,
        id: RequestId,
        method: String,
        params: Map<String, Value>,
    ) -> Response<Body> {
        let checked = check_modern(http.headers(), &method, &params);
        let request = match checked.and_then(|()| Request::modern(method, params)) {
            Ok(request) => request,
            Err(problem) => return refused(&id, &problem),
        };
        // Nothing is remembered between requests.
        self.answer(http, id, request, Arc::default(), None).await
    }

    fn initialize(&self, id: &RequestId, params: &Map<String, Value>) -> Response<Body> {
        let (result, abilities) = match self.service.initialize(params) {
            Ok(answer) => answer,
            Err(problem) => {
                return frame(StatusCode::OK, &error_frame(Some(id), &problem));
            }
        };
        match self.sessions.begin(abilities) {
            Ok(name) => {
                let mut response = frame(StatusCode::OK, &response_frame(id, Ok(result)));
                headers::set_session(&mut response, &name);
                response
            }
            Err(problem) => failure(StatusCode::SERVICE_UNAVAILABLE, &problem.to_string()),
        }
    }

    async fn answer(
        self: Arc<Self>,
        http: &HttpRequest<Bytes>,
        id: RequestId,
        request: Request,
        connection: Arc<Connection>,
        session: Option<Arc<Session>>,
    ) -> Response<Body> {
        let cancel = match connection.begin(&id) {
            Ok(cancel) => cancel,
            Err(problem) => {
                return refused(&id, &error(INVALID_PARAMS, problem.to_string()));
            }
        };
        let call = match self.service.reply(&request) {
            Reply::Now(result) => {
                connection.end(&id);
                let code = match &result {
                    Err(problem) if request.era == Era::Modern => modern_status(problem),
                    _ => StatusCode::OK,
                };
                return frame(code, &response_frame(&id, result));
            }
            Reply::Call(call) => call,
        };
        let (outbox, frames) = mpsc::channel(STREAM_LENGTH);
        let accepts = accepts_events(http.headers());
        let abilities = match (request.era, accepts) {
            // Questions are events there.
            (Era::Legacy, false) => ClientAbilities::default(),
            _ => request.abilities,
        };
        let exchange = Exchange {
            era: request.era,
            abilities,
            progress_token: request.progress_token,
            outbox,
            connection,
            cancel: cancel.clone(),
        };
        let jobs = self.jobs.clone();
        jobs.start(self.clone().work(id, call, exchange, session))
            .await;
        // Hanging up gives a request up only where the protocol says so.
        let guard = (request.era == Era::Modern).then(|| cancel.drop_guard());
        match accepts {
            true => events(frames, guard),
            false => stream::last(frames, guard).await,
        }
    }

    async fn work(
        self: Arc<Self>,
        id: RequestId,
        call: Box<Call>,
        exchange: Exchange,
        session: Option<Arc<Session>>,
    ) {
        let result = self.service.run(call, &exchange, &self.jobs).await;
        exchange.connection.end(&id);
        if let Some(result) = result {
            // A client that has hung up gets nothing.
            let _ = exchange.outbox.send(response_frame(&id, result)).await;
        }
        drop(session);
    }
}

/// Returns the refusal of a request.
fn refused(id: &RequestId, problem: &RpcError) -> Response<Body> {
    frame(modern_status(problem), &error_frame(Some(id), problem))
}

fn modern_status(problem: &RpcError) -> StatusCode {
    match problem.code {
        METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        HEADER_MISMATCH | UNSUPPORTED_VERSION | INVALID_PARAMS => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}
