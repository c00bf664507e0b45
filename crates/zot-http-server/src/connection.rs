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
use crate::server::{Settings, plain_response};
use crate::silent::{Silent, SilentGuard};
use crate::timer::TokioTimer;
use crate::transport::Transport;

/// Answers the requests of one connection. Counts as silent from the moment of the call.
pub(crate) fn serve<H, F>(
    stream: TcpStream,
    settings: Arc<Settings>,
    handler: H,
    silent: &Silent,
    cancel: CancellationToken,
) -> impl Future<Output = ()> + Send + 'static
where
    H: Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let presence = Presence::new(silent);
    async move {
        let _ = stream.set_nodelay(true);
        let limits = settings.limits;
        let service = {
            let (settings, presence) = (Arc::clone(&settings), Arc::clone(&presence));
            service_fn(move |request: Request<Incoming>| {
                let busy = Busy::new(&presence);
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
                () = presence.evicted.cancelled() => return,
                () = cancel.cancelled(), if !is_ending => {
                    is_ending = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                ended = &mut connection => break ended,
            }
        };
        if ended.is_err_and(|error| error.is_timeout()) {
            let parts = connection.into_parts();
            // One that has asked for nothing needs no answer.
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

/// Reads the body of a request and has it answered.
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
    /// It is not what its head says, or the client has gone.
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
        // Trailers are of no use here.
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

/// Whether a connection has a request, for whoever needs its place.
struct Presence {
    silent: Silent,
    evicted: CancellationToken,
    guard: Mutex<Option<SilentGuard>>,
}

impl Presence {
    fn new(silent: &Silent) -> Arc<Self> {
        let presence = Self {
            silent: silent.clone(),
            evicted: CancellationToken::new(),
            guard: Mutex::new(None),
        };
        presence.set_silent();
        Arc::new(presence)
    }

    fn set_silent(&self) {
        let guard = self.silent.enter_with(self.evicted.clone());
        *self.lock() = Some(guard);
    }

    fn lock(&self) -> MutexGuard<'_, Option<SilentGuard>> {
        self.guard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps a connection from being closed while its request is answered.
struct Busy(Arc<Presence>);

impl Busy {
    fn new(presence: &Arc<Presence>) -> Self {
        presence.lock().take();
        Self(Arc::clone(presence))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.set_silent();
    }
}

/// A body whose connection is busy until it has been sent.
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
