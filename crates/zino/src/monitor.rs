//! Serves `/metrics`, `/healthz` and `/readyz` for the operator of this process.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;
use zot_http_server::http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use zot_http_server::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use zot_http_server::{Body, Bytes, Limits, Server};

use crate::config::Config;
use crate::logging::Log;
use crate::metrics;

/// The name in the log lines.
const MONITOR_LOG: &str = "metrics";

const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";
const PLAIN_TEXT: &str = "text/plain; charset=utf-8";

/// How many clients may be connected to `[metrics] listen`.
///
/// Limit: the oldest connection without a request is closed; if all have one, the next gets status 503.
const MAX_MONITOR_CONNECTIONS: usize = 32;

/// How long what this process needs may take to prove that it works.
///
/// Limit: `/readyz` has status 503.
const READINESS_TIME: Duration = Duration::from_secs(2);

const LIMITS: Limits = Limits {
    connections: MAX_MONITOR_CONNECTIONS,
    head_bytes: 8 * 1024,
    headers: 64,
    body_bytes: 0,
    read_time: Duration::from_secs(10),
    write_time: Duration::from_secs(10),
    ending_time: Duration::from_secs(1),
};

/// The address of `[metrics] listen` cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("[metrics] cannot listen on {address}: {source}")]
pub struct MonitorError {
    address: SocketAddr,
    source: io::Error,
}

/// Tells whether something that requests need works; why not, if it does not.
pub type Check = Box<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;

/// What decides whether this process should get requests.
struct Readiness {
    checks: Vec<Check>,
    has_bus: bool,
    draining: CancellationToken,
}

impl Readiness {
    async fn problem(&self) -> Option<String> {
        if self.draining.is_cancelled() {
            return Some("draining".to_owned());
        }
        if self.has_bus && metrics::BUS_CONNECTED.value() == 0 {
            return Some("the bus is not connected".to_owned());
        }
        for check in &self.checks {
            match timeout(READINESS_TIME, check()).await {
                Ok(Ok(())) => {}
                Ok(Err(problem)) => return Some(problem),
                Err(_) => {
                    let seconds = READINESS_TIME.as_secs();
                    return Some(format!("the store does not answer within {seconds} s"));
                }
            }
        }
        None
    }
}

/// The bound address of `[metrics] listen`.
pub struct Monitor {
    listener: TcpListener,
    has_bus: bool,
}

impl Monitor {
    /// Binds `[metrics] listen`, if it is given.
    pub async fn bind(config: &Config) -> Result<Option<Self>, MonitorError> {
        let Some(address) = config.metrics.listen else {
            return Ok(None);
        };
        let bound = async {
            let listener = TcpListener::bind(address).await?;
            let log = Log::new(MONITOR_LOG, config.log_level());
            log.info(format_args!(
                "listening on http://{}",
                listener.local_addr()?
            ));
            Ok(Some(Self {
                listener,
                has_bus: config.bus_url().is_some(),
            }))
        };
        bound
            .await
            .map_err(|source| MonitorError { address, source })
    }
}

/// A monitor at work, or none.
pub struct Monitoring {
    server: JoinSet<()>,
    stop: CancellationToken,
}

impl Monitoring {
    /// Serves `monitor`. The process is ready as long as all `checks` succeed and `draining` has not
    /// fired.
    pub fn begin(
        monitor: Option<Monitor>,
        checks: Vec<Check>,
        draining: CancellationToken,
    ) -> Self {
        let stop = CancellationToken::new();
        let mut server = JoinSet::new();
        if let Some(Monitor { listener, has_bus }) = monitor {
            let readiness = Arc::new(Readiness {
                checks,
                has_bus,
                draining,
            });
            let handler = move |request: Request<Bytes>| {
                let readiness = Arc::clone(&readiness);
                async move { respond(&request, &readiness).await }
            };
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
            let http = Server::new(listener, LIMITS, headers);
            server.spawn(http.serve(handler, stop.clone()));
        }
        Self { server, stop }
    }

    /// Stops serving: call it after everything else has ended, so that a process that drains can be
    /// watched.
    pub async fn end(mut self) {
        self.stop.cancel();
        while self.server.join_next().await.is_some() {}
    }
}

async fn respond(request: &Request<Bytes>, readiness: &Readiness) -> Response<Body> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD");
        let allowed = HeaderValue::from_static("GET, HEAD");
        refusal.headers_mut().insert(ALLOW, allowed);
        return refusal;
    }
    match request.uri().path() {
        "/metrics" => text(StatusCode::OK, PROMETHEUS_TEXT, metrics::text()),
        // The services and this server share a thread: a response shows that it is not stuck.
        "/healthz" => plain(StatusCode::OK, "ok"),
        "/readyz" => match readiness.problem().await {
            None => plain(StatusCode::OK, "ready"),
            Some(problem) => plain(StatusCode::SERVICE_UNAVAILABLE, &problem),
        },
        _ => plain(
            StatusCode::NOT_FOUND,
            "not found: there are /metrics, /healthz and /readyz",
        ),
    }
}

fn plain(status: StatusCode, message: &str) -> Response<Body> {
    text(status, PLAIN_TEXT, format!("{message}\n"))
}

fn text(status: StatusCode, content_type: &'static str, body: String) -> Response<Body> {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    let value = HeaderValue::from_static(content_type);
    response.headers_mut().insert(CONTENT_TYPE, value);
    response
}
