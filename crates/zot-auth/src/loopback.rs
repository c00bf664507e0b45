//! As much of an HTTP server as a login needs: on 127.0.0.1 only, for one browser, for a moment.
//!
//! Requests for another host are refused, so that a name that somebody points to 127.0.0.1 (DNS
//! rebinding) reaches nothing.

mod request;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::Ipv4Addr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::oauth::decoded;
use request::Head;

/// Connections that are being read at a time; browsers open some they never use.
///
/// Limit: the oldest connection without a request is closed.
const MAX_LOOPBACK_CONNECTIONS: usize = 16;

/// How long a request may take to arrive, and its answer to be taken.
///
/// Limit: the request is dropped.
const EXCHANGE_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 32;

/// Listens on a port of 127.0.0.1.
pub struct LoopbackServer {
    listener: TcpListener,
    port: u16,
    arriving: JoinSet<Option<Request>>,
    /// The connections that are being read, in the order they came.
    oldest: VecDeque<AbortHandle>,
}

/// A request that waits for its answer.
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) form: Vec<(String, String)>,
    host: String,
    origin: Option<String>,
    stream: TcpStream,
}

/// What is answered.
pub(crate) struct Reply {
    status: &'static str,
    html: String,
}

impl Reply {
    pub(crate) fn page(html: String) -> Self {
        Self {
            status: "200 OK",
            html,
        }
    }

    pub(crate) fn not_found() -> Self {
        Self {
            status: "404 Not Found",
            html: String::new(),
        }
    }

    fn forbidden() -> Self {
        Self {
            status: "403 Forbidden",
            html: String::new(),
        }
    }
}

impl LoopbackServer {
    /// Port 0 takes any that is free.
    ///
    /// Has to be called within a tokio runtime.
    pub fn bind(port: u16) -> io::Result<Self> {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        Ok(Self {
            port: listener.local_addr()?.port(),
            listener,
            arriving: JoinSet::new(),
            oldest: VecDeque::new(),
        })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The next request that a browser on this machine made for this server.
    pub(crate) async fn next(&mut self) -> io::Result<Request> {
        loop {
            tokio::select! {
                // What has arrived counts more than what may.
                biased;
                Some(arrived) = self.arriving.join_next() => {
                    let Ok(Some(request)) = arrived else { continue };
                    if self.is_for_us(&request) {
                        return Ok(request);
                    }
                    request.answer(Reply::forbidden()).await;
                }
                accepted = self.listener.accept() => {
                    let (stream, _) = accepted?;
                    self.make_room();
                    self.oldest.push_back(self.arriving.spawn(async move {
                        timeout(EXCHANGE_TIMEOUT, read(stream)).await.ok()?
                    }));
                }
            }
        }
    }

    /// Gives up connections that have asked for nothing yet, those that began first.
    fn make_room(&mut self) {
        self.oldest.retain(|reading| !reading.is_finished());
        while self.oldest.len() >= MAX_LOOPBACK_CONNECTIONS
            && let Some(reading) = self.oldest.pop_front()
        {
            reading.abort();
        }
    }

    fn is_for_us(&self, request: &Request) -> bool {
        let ours = |host: &str| {
            host == format!("127.0.0.1:{}", self.port) || host == format!("localhost:{}", self.port)
        };
        let origin = request.origin.as_deref();
        ours(&request.host)
            && origin.is_none_or(|origin| origin.strip_prefix("http://").is_some_and(ours))
    }
}

async fn read(mut stream: TcpStream) -> Option<Request> {
    let Head {
        method,
        target,
        host,
        origin,
        body,
    } = request::read(&mut stream).await?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    Some(Request {
        method,
        path: path.to_owned(),
        query: decoded(query),
        form: decoded(&String::from_utf8_lossy(&body)),
        host,
        origin,
        stream,
    })
}

impl Request {
    pub(crate) fn field(&self, name: &str) -> &str {
        let mut fields = self.form.iter();
        let found = fields.find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value)
    }

    /// Answers and hangs up. Nothing of it may be kept, framed or loaded from elsewhere.
    pub(crate) async fn answer(mut self, reply: Reply) {
        let head = format!(
            "HTTP/1.1 {}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             connection: close\r\ncache-control: no-store\r\nreferrer-policy: same-origin\r\n\
             x-content-type-options: nosniff\r\nx-frame-options: DENY\r\n\
             content-security-policy: default-src 'none'; style-src 'unsafe-inline'; \
             form-action 'self'; frame-ancestors 'none'; base-uri 'none'\r\n\r\n",
            reply.status,
            reply.html.len()
        );
        let write = async {
            self.stream.write_all(head.as_bytes()).await?;
            self.stream.write_all(reply.html.as_bytes()).await?;
            self.stream.shutdown().await
        };
        // A browser that has gone away needs no answer.
        let _ = timeout(EXCHANGE_TIMEOUT, write).await;
    }
}

/// A text that nobody can guess. The device is there on every system zot runs on, and never waits
/// once the system is up.
pub(crate) fn random_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Compares without telling by the time it takes how much was right.
pub(crate) fn same(left: &str, right: &str) -> bool {
    let (left, right) = (Sha256::digest(left), Sha256::digest(right));
    left.as_slice().ct_eq(right.as_slice()).into()
}
