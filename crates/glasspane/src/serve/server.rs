//! Glasspane's server: access control and responses.

use std::fs::File;
use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, Method, Request, Response, StatusCode};
use tokio::net::TcpListener;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;
use zot_http_server::{Body, Bytes, ChunkSender, Limits};

use super::journal::Journal;
use super::request::{header, host, query};
use super::response::{closing, common_headers, failure, ok};
use super::token::{Token, random_hex};
use super::{assets, watcher};
use crate::Hub;

/// How many clients may be connected. A page takes one connection, and a few more while it loads.
///
/// Limit: the oldest connection without a request is closed; if all have one, the next gets status 503.
pub const MAX_PAGE_CONNECTIONS: usize = 256;

/// How long the head of a request may be. Browsers send one or two kibibytes.
///
/// Limit: status 431.
pub const MAX_REQUEST_HEAD_BYTES: usize = 16 * 1024;

/// How many header fields a request may have.
///
/// Limit: status 431.
pub const MAX_REQUEST_HEADERS: usize = 64;

/// How long a client may take to send a request.
///
/// Limit: status 408.
pub const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one write may wait for a client that does not read.
///
/// Limit: a client that reads nothing is disconnected.
pub const RESPONSE_WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// How often watchers receive new records.
pub const BATCH_TIME: Duration = Duration::from_millis(100);

/// How long connections may take to end on their own.
const SERVER_ENDING_TIME: Duration = Duration::from_secs(1);

/// How much of a log is read at a time.
const LOG_CHUNK: usize = 64 * 1024;

const LIMITS: Limits = Limits {
    connections: MAX_PAGE_CONNECTIONS,
    head_bytes: MAX_REQUEST_HEAD_BYTES,
    headers: MAX_REQUEST_HEADERS,
    body_bytes: 0,
    read_time: REQUEST_HEAD_TIMEOUT,
    write_time: RESPONSE_WRITE_TIMEOUT,
    ending_time: SERVER_ENDING_TIME,
};

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// The server of the page.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    journal: Arc<Journal>,
    token: Token,
    log: Option<PathBuf>,
    /// Whether only this machine can connect.
    is_local: bool,
    allowed_hosts: Vec<String>,
}

impl Server {
    /// Listens on `address`; `allowed_hosts` are host names that browsers may use, in addition to IP addresses.
    pub async fn bind(
        address: SocketAddr,
        hub: Hub,
        token: Token,
        log: Option<PathBuf>,
        allowed_hosts: Vec<String>,
    ) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let journal = Journal::new(hub, random_hex(8)?);
        let shared = Shared {
            journal: Arc::new(journal),
            token,
            log,
            is_local: address.ip().is_loopback(),
            allowed_hosts,
        };
        Ok(Self {
            listener,
            address,
            shared: Arc::new(shared),
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the page, with the token.
    pub fn url(&self) -> String {
        format!(
            "http://{}/?token={}",
            self.address,
            self.shared.token.as_str()
        )
    }

    /// Serves until cancelled.
    pub async fn run(self, cancel: CancellationToken) {
        let handler = {
            let (shared, cancel) = (Arc::clone(&self.shared), cancel.clone());
            move |request: Request<Bytes>| {
                let response = shared.respond(&request, &cancel);
                async move { response }
            }
        };
        let server = zot_http_server::Server::new(self.listener, LIMITS, common_headers());
        tokio::select! {
            () = server.serve(handler, cancel) => {}
            () = self.shared.flush_batches() => {}
        }
    }
}

impl Shared {
    /// Sends new records to watchers, at regular intervals.
    async fn flush_batches(&self) {
        let mut batches = interval(BATCH_TIME);
        batches.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            batches.tick().await;
            if self.journal.is_watched() {
                self.journal.flush();
            }
        }
    }

    fn respond(&self, request: &Request<Bytes>, cancel: &CancellationToken) -> Response<Body> {
        if let Some(rejection) = self.reject(request) {
            return closing(rejection);
        }
        match request.uri().path() {
            "/" => {
                let name = self.log.as_ref().and_then(|path| path.file_name());
                let name = name.map(|name| name.to_string_lossy());
                let (content_type, page) = assets::page(self.token.as_str(), name.as_deref());
                ok(content_type, page)
            }
            "/events" => closing(self.feed(request, cancel)),
            "/snapshot" => match serde_json::to_vec(&self.journal.hub().snapshot()) {
                Ok(body) => ok("application/json", body),
                Err(error) => failure(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
            },
            "/log" => self.send_log(),
            path => match path
                .rsplit_once('/')
                .and_then(|(_, name)| assets::find(name))
            {
                Some((content_type, content)) if path.starts_with("/assets/") => {
                    ok(content_type, content)
                }
                _ => failure(StatusCode::NOT_FOUND, "not found"),
            },
        }
    }

    fn feed(&self, request: &Request<Bytes>, cancel: &CancellationToken) -> Response<Body> {
        let id = header(request.headers(), LAST_EVENT_ID).or_else(|| query(request, "after"));
        let position = id.and_then(|id| self.journal.position(id));
        let (journal, cancel) = (Arc::clone(&self.journal), cancel.clone());
        let body = Body::produced(None, async move |output| {
            // A watcher that has left needs nothing more.
            let _ = watcher::feed(journal, position, output, cancel).await;
        });
        ok("text/event-stream; charset=utf-8", body)
    }

    /// Returns an error for a request that is not allowed. Without the token a client learns nothing else.
    fn reject(&self, request: &Request<Bytes>) -> Option<Response<Body>> {
        if !host(request).is_some_and(|host| self.is_allowed_host(host)) {
            return Some(failure(
                StatusCode::FORBIDDEN,
                "this host name is not allowed; see --allow-host",
            ));
        }
        let token = match request.uri().path().strip_prefix("/assets/") {
            // Modules import each other by relative paths, so their paths contain the token.
            Some(rest) => rest.split_once('/').map(|(token, _)| token),
            None => query(request, "token"),
        };
        if !token.is_some_and(|token| self.token.matches(token)) {
            return Some(failure(
                StatusCode::FORBIDDEN,
                "the token is missing or wrong; use the address that glasspane printed",
            ));
        }
        (request.method() != Method::GET)
            .then(|| failure(StatusCode::METHOD_NOT_ALLOWED, "only GET"))
    }

    /// Whether a browser may use this host name. Another site can make its own name resolve to this server,
    /// but cannot redirect an IP address.
    fn is_allowed_host(&self, host: &str) -> bool {
        if host.eq_ignore_ascii_case("localhost") {
            return true;
        }
        if let Ok(address) = host.parse::<IpAddr>() {
            return !self.is_local || address.is_loopback();
        }
        self.allowed_hosts
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(host))
    }

    /// Sends the log to replay, up to its current length.
    fn send_log(&self) -> Response<Body> {
        // A regular file, as checked when the server started, so reading it does not block.
        let opened = self.log.as_ref().map(|path| {
            let file = zot_files::open_existing(path)?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((file, length))
        });
        match opened {
            Some(Ok((file, length))) => {
                let body = Body::produced(Some(length), async move |output| {
                    // If the client has left or the log became shorter, the connection breaks.
                    let _ = send_file(file, length, output).await;
                });
                ok("application/x-ndjson", body)
            }
            Some(Err(error)) => failure(
                StatusCode::NOT_FOUND,
                &format!("cannot read the log: {error}"),
            ),
            None => failure(StatusCode::NOT_FOUND, "no log to replay; see --replay"),
        }
    }
}

async fn send_file(file: File, length: u64, output: ChunkSender) -> io::Result<()> {
    let mut rest = file.take(length);
    loop {
        let mut chunk = vec![0; LOG_CHUNK];
        let read = rest.read(&mut chunk)?;
        if read == 0 {
            return Ok(());
        }
        chunk.truncate(read);
        output.send(chunk).await?;
    }
}
