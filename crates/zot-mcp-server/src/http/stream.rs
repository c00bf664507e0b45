//! Responses: a message, or a stream of events that ends with one.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::DropGuard;
use zot_http_server::Body;
use zot_http_server::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};
use zot_http_server::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};

use crate::frame::Frame;

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE_TIME: Duration = Duration::from_secs(15);

const BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Returns the headers of every response.
pub(super) fn common_headers() -> HeaderMap {
    [
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ]
    .into_iter()
    .map(|(name, value)| (name, HeaderValue::from_static(value)))
    .collect()
}

fn response(code: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = code;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Returns a response without a body.
pub(super) fn status(code: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::from(""));
    *response.status_mut() = code;
    response
}

pub(super) fn failure(code: StatusCode, message: &str) -> Response<Body> {
    let mut response = response(code, "text/plain; charset=utf-8", format!("{message}\n"));
    if code == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = HeaderValue::from_static("POST, DELETE");
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

/// Returns one message.
pub(super) fn frame(code: StatusCode, frame: &Frame) -> Response<Body> {
    response(code, "application/json", frame.get().to_owned())
}

/// Returns the messages of a request as they come; hanging up drops the guard.
pub(super) fn events(
    mut frames: mpsc::Receiver<Frame>,
    guard: Option<DropGuard>,
) -> Response<Body> {
    let body = Body::produced(None, async move |output| {
        let _guard = guard;
        loop {
            let chunk = tokio::select! {
                frame = frames.recv() => match frame {
                    Some(frame) => format!("event: message\ndata: {}\n\n", frame.get()),
                    None => return,
                },
                () = sleep(KEEP_ALIVE_TIME) => ":\n\n".to_owned(),
            };
            if output.send(chunk).await.is_err() {
                return;
            }
        }
    });
    let mut response = response(StatusCode::OK, "text/event-stream", body);
    let unbuffered = HeaderValue::from_static("no");
    response.headers_mut().insert(BUFFERING, unbuffered);
    response
}

/// Waits for the response, for clients that read no events. Its notifications are left out.
pub(super) async fn last(
    mut frames: mpsc::Receiver<Frame>,
    guard: Option<DropGuard>,
) -> Response<Body> {
    let _guard = guard;
    let mut response = None;
    while let Some(next) = frames.recv().await {
        response = Some(next);
    }
    match response {
        Some(response) => frame(StatusCode::OK, &response),
        None => failure(StatusCode::BAD_REQUEST, "the request was cancelled"),
    }
}
