//! Accepts connections, as many as the limits allow, and owns their tasks.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::body::Body;
use crate::connection;
use crate::idle::IdleConnections;

/// The pause after a failed accept, which usually means that the process is out of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Limits on what clients may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Connections at a time. When there is no room, the one that has been idle longest is closed;
    /// when all are busy, the next client gets status 503.
    pub connections: usize,
    /// Bytes of the request line and the headers; more get status 431. At least 8 KiB.
    pub head_bytes: usize,
    /// Header fields; more get status 431.
    pub headers: usize,
    /// Bytes of a request's body; more get status 413. With 0 no request may have a body.
    pub body_bytes: usize,
    /// How long the head, and then the body, may take to arrive. An incomplete request gets status
    /// 408; a connection without a request is closed.
    pub read_time: Duration,
    /// How long a client may read nothing of a response before it is disconnected.
    pub write_time: Duration,
    /// How long responses may take to finish when the server shuts down.
    pub ending_time: Duration,
}

/// Settings shared by all connections.
pub(crate) struct Settings {
    pub(crate) limits: Limits,
    /// Added to every response that does not set them itself.
    pub(crate) headers: HeaderMap,
}

/// An HTTP server on one listener.
pub struct Server {
    listener: TcpListener,
    settings: Arc<Settings>,
}

impl Server {
    /// Serves `listener`; every response gets `headers` unless it sets them itself.
    pub fn new(listener: TcpListener, limits: Limits, headers: HeaderMap) -> Self {
        Self {
            listener,
            settings: Arc::new(Settings { limits, headers }),
        }
    }

    /// Answers requests with `handler` until cancelled, then finishes the responses in progress.
    pub async fn serve<H, F>(self, handler: H, cancel: CancellationToken)
    where
        H: Fn(Request<Bytes>) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let Self { listener, settings } = self;
        let limits = settings.limits;
        let idle_connections = IdleConnections::default();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok((stream, _))
                        if connections.len() < limits.connections || idle_connections.close_oldest() =>
                    {
                        connections.spawn(connection::serve(
                            stream,
                            Arc::clone(&settings),
                            handler.clone(),
                            &idle_connections,
                            cancel.clone(),
                        ));
                    }
                    Ok((stream, _)) => {
                        let _ = stream.try_write(&plain_response(
                            StatusCode::SERVICE_UNAVAILABLE,
                            "too many connections",
                            &settings.headers,
                        ));
                    }
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        drop(listener);
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = timeout(limits.ending_time, ended).await;
        connections.shutdown().await;
    }
}

/// Returns a complete response, for a client that hyper does not answer.
pub(crate) fn plain_response(status: StatusCode, message: &str, headers: &HeaderMap) -> Vec<u8> {
    let reason = status.canonical_reason().unwrap_or_default();
    let mut response = format!(
        "HTTP/1.1 {} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\
         Content-Length: {}\r\n",
        status.as_str(),
        message.len() + 1
    )
    .into_bytes();
    for (name, value) in headers {
        response.extend_from_slice(name.as_str().as_bytes());
        response.extend_from_slice(b": ");
        response.extend_from_slice(value.as_bytes());
        response.extend_from_slice(b"\r\n");
    }
    response.extend_from_slice(format!("\r\n{message}\n").as_bytes());
    response
}
