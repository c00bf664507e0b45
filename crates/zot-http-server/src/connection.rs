//! One connection: its requests one after the other, until either side ends it.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http::header::{CONNECTION, CONTENT_TYPE};
use http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::body::Body;
use crate::idle::{IdleConnections, IdleGuard};
use crate::server::{Settings, plain_response};
use crate::timer::TokioTimer;
use crate::transport::Transport;

/// Answers the requests of one connection. The connection counts as idle from the moment of the call.
pub(crate) fn serve<H, F>(
    stream: TcpStream,
    settings: Arc<Settings>,
    handler: H,
    idle_connections: &IdleConnections,
    cancel: CancellationToken,
) -> impl Future<Output = ()> + Send + 'static
where
    H: Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let state = ConnectionState::new(idle_connections);
    async move {
        let _ = stream.set_nodelay(true);
        let limits = settings.limits;
        let service = {
            let (settings, state) = (Arc::clone(&settings), Arc::clone(&state));
            service_fn(move |request: Request<Incoming>| {
                let busy = Busy::new(&state);
                let (settings, handler) = (Arc::clone(&settings), handler.clone());
                async move {
                    let response = respond(request, &settings, handler).await;
                    Ok::<_, Infallible>(response.map(|body| BusyBody { body, _busy: busy }))
                }
            })
        };
        let transport = Transport::new(stream, limits.write_time);
        let mut connection = http1::Builder::new()
            .timer(TokioTimer)
            .header_read_timeout(limits.read_time)
            .max_headers(limits.headers)
            .max_header_size(limits.head_bytes)
            .title_case_headers(true)
            .auto_date_header(false)
            .serve_connection(transport, service);
        let mut is_ending = false;
        let ended = loop {
            tokio::select! {
                () = state.evicted.cancelled() => return,
                () = cancel.cancelled(), if !is_ending => {
                    is_ending = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                ended = &mut connection => break ended,
            }
        };
        if ended.is_err_and(|error| error.is_timeout()) {
            let parts = connection.into_parts();
            // A client that has sent nothing needs no response.
            if !parts.read_buf.is_empty() {
                parts.io.write_now(&plain_response(
                    StatusCode::REQUEST_TIMEOUT,
                    "the request took too long",
                    &settings.headers,
                ));
            }
        }
    }
}

/// Reads the body of a request and passes the request to the handler.
async fn respond<H, F>(
    request: Request<Incoming>,
    settings: &Settings,
    handler: H,
) -> Response<Body>
where
    H: Fn(Request<Bytes>) -> F,
    F: Future<Output = Response<Body>>,
{
    let limits = settings.limits;
    let (parts, body) = request.into_parts();
    let mut response = match timeout(limits.read_time, collect(body, limits.body_bytes)).await {
        Ok(Ok(body)) => handler(Request::from_parts(parts, body)).await,
        Ok(Err(BodyError::TooLarge)) => {
            refusal(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large\n")
        }
        Ok(Err(BodyError::Broken)) => refusal(StatusCode::BAD_REQUEST, "the body is malformed\n"),
        Err(_) => refusal(StatusCode::REQUEST_TIMEOUT, "the request took too long\n"),
    };
    for (name, value) in &settings.headers {
        let headers = response.headers_mut();
        headers.entry(name).or_insert_with(|| value.clone());
    }
    response
}

fn refusal(status: StatusCode, message: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(message));
    *response.status_mut() = status;
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, text);
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}

enum BodyError {
    TooLarge,
    /// The body does not match its headers, or the client has gone.
    Broken,
}

async fn collect(mut body: Incoming, limit: usize) -> Result<Bytes, BodyError> {
    if body.is_end_stream() {
        return Ok(Bytes::new());
    }
    if limit == 0 || body.size_hint().lower() > limit as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut collected = BytesMut::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| BodyError::Broken)?;
        // Trailers are ignored.
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if collected.len() + data.len() > limit {
            return Err(BodyError::TooLarge);
        }
        collected.extend_from_slice(&data);
    }
    Ok(collected.freeze())
}

/// Whether a connection is handling a request; an idle one may be closed to make room.
struct ConnectionState {
    idle_connections: IdleConnections,
    evicted: CancellationToken,
    guard: Mutex<Option<IdleGuard>>,
}

impl ConnectionState {
    fn new(idle_connections: &IdleConnections) -> Arc<Self> {
        let state = Self {
            idle_connections: idle_connections.clone(),
            evicted: CancellationToken::new(),
            guard: Mutex::new(None),
        };
        state.set_idle();
        Arc::new(state)
    }

    fn set_idle(&self) {
        let guard = self.idle_connections.insert_with(self.evicted.clone());
        *self.lock() = Some(guard);
    }

    fn lock(&self) -> MutexGuard<'_, Option<IdleGuard>> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a connection from counting as idle while its request is handled.
struct Busy(Arc<ConnectionState>);

impl Busy {
    fn new(state: &Arc<ConnectionState>) -> Self {
        state.lock().take();
        Self(Arc::clone(state))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_idle();
    }
}

/// A body that keeps its connection busy until it has been sent.
struct BusyBody {
    body: Body,
    _busy: Busy,
}

impl hyper::body::Body for BusyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<Frame<Bytes>>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
