//! The HTTP server: who may connect, who may ask, and what is answered.

use std::io::{self, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use super::journal::Journal;
use super::request::{Heads, Request, host_name};
use super::response::{Response, head, write_all};
use super::token::{Token, random_hex};
use super::{assets, watcher};
use crate::Hub;
use crate::silent::{Silent, SilentGuard};

/// How many clients may be connected. A page takes one connection, and a few more while it loads.
///
/// Limit: the oldest connection without a request is closed; if all have one, the next gets status 503.
pub const MAX_PAGE_CONNECTIONS: usize = 256;

/// How soon watchers see what happens.
pub const BATCH_TIME: Duration = Duration::from_millis(100);

/// The wait after a failed accept, which mostly means that there are no descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How long connections have to end by themselves.
const SERVER_ENDING_TIME: Duration = Duration::from_secs(1);

/// What of a log is read at a time.
const LOG_CHUNK: usize = 64 * 1024;

/// What a server shows and to whom.
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
    /// Listens on `address`; `allowed_hosts` are names by which a browser may call the server, besides addresses.
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
        let mut connections = JoinSet::new();
        let silent = Silent::default();
        let mut batches = interval(BATCH_TIME);
        batches.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = cancel.cancelled() => break,
                _ = batches.tick() => {
                    if self.shared.journal.is_watched() {
                        self.shared.journal.flush();
                    }
                }
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept() => match accepted {
                    // A place that is held without a request goes to who may have one.
                    Ok((stream, _))
                        if connections.len() < MAX_PAGE_CONNECTIONS || silent.close_oldest() =>
                    {
                        let (shared, guard) = (Arc::clone(&self.shared), silent.enter());
                        connections.spawn(converse(stream, shared, guard, cancel.clone()));
                    }
                    Ok((stream, _)) => turn_away(&stream),
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
            }
        }
        let ended = async { while connections.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(SERVER_ENDING_TIME, ended).await;
        connections.shutdown().await;
    }
}

/// Tells a client that there is no room for it, if it takes that at once.
fn turn_away(stream: &TcpStream) {
    let words = b"too many connections\n";
    let mut answer = head(
        503,
        "text/plain; charset=utf-8",
        Some(words.len() as u64),
        false,
    );
    answer.extend_from_slice(words);
    let _ = stream.try_write(&answer);
}

/// Answers the requests of one connection. Errors mean that the client is gone.
async fn converse(
    stream: TcpStream,
    shared: Arc<Shared>,
    mut silent: SilentGuard,
    cancel: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let (mut reader, mut writer) = stream.into_split();
    let mut heads = Heads::default();
    loop {
        let request = tokio::select! {
            () = cancel.cancelled() => return,
            () = silent.closed() => return,
            request = heads.next(&mut reader) => request,
        };
        let request = match request {
            Ok(request) => request,
            Err(refusal) => {
                if let Some(response) = Response::refusal(refusal) {
                    let _ = response.write(&mut writer, false).await;
                }
                return;
            }
        };
        let others = silent.into_others();
        let answered = tokio::select! {
            () = cancel.cancelled() => return,
            answered = shared.answer(&request, &mut reader, &mut writer, &cancel) => answered,
        };
        if !matches!(answered, Ok(true)) {
            return;
        }
        silent = others.enter();
    }
}

impl Shared {
    /// Answers, and says whether the connection goes on.
    async fn answer(
        &self,
        request: &Request,
        reader: &mut OwnedReadHalf,
        writer: &mut OwnedWriteHalf,
        cancel: &CancellationToken,
    ) -> io::Result<bool> {
        if let Some(refusal) = self.refuse(request) {
            refusal.write(writer, false).await?;
            return Ok(false);
        }
        let response = match request.path.as_str() {
            "/" => {
                let name = self.log.as_ref().and_then(|path| path.file_name());
                let name = name.map(|name| name.to_string_lossy());
                let (kind, page) = assets::page(self.token.as_str(), name.as_deref());
                Response::of(kind, page)
            }
            "/events" => {
                let id = request
                    .last_event_id
                    .as_deref()
                    .or_else(|| request.query("after"));
                let place = id.and_then(|id| self.journal.place(id));
                watcher::feed(&self.journal, place, reader, writer, cancel).await?;
                return Ok(false);
            }
            "/snapshot" => {
                let snapshot = self.journal.hub().snapshot();
                match serde_json::to_vec(&snapshot) {
                    Ok(body) => Response::of("application/json", body),
                    Err(error) => Response::failure(500, &error.to_string()),
                }
            }
            "/log" => return self.send_log(request, writer).await,
            path => match path
                .rsplit_once('/')
                .and_then(|(_, name)| assets::find(name))
            {
                Some((kind, content)) if path.starts_with("/assets/") => {
                    Response::of(kind, content)
                }
                _ => Response::failure(404, "there is nothing here"),
            },
        };
        response.write(writer, request.keep_alive).await?;
        Ok(request.keep_alive)
    }

    /// Why this is not answered. Who does not know the token learns nothing else.
    fn refuse(&self, request: &Request) -> Option<Response> {
        let host = request.host.as_deref().and_then(host_name);
        if !host.is_some_and(|host| self.is_called(host)) {
            return Some(Response::failure(
                403,
                "this server does not go by that name; see --allow-host",
            ));
        }
        let token = match request.path.strip_prefix("/assets/") {
            // Modules load each other by relative addresses, so theirs has the token in its path.
            Some(rest) => rest.split_once('/').map(|(token, _)| token),
            None => request.query("token"),
        };
        if !token.is_some_and(|token| self.token.is(token)) {
            return Some(Response::failure(
                403,
                "the token is missing or wrong; use the address that glasspane printed",
            ));
        }
        (request.method != "GET").then(|| Response::failure(405, "only GET"))
    }

    /// Whether a browser may call us that. A page elsewhere can make its own name lead here, but an
    /// address is no name that anybody could redirect.
    fn is_called(&self, host: &str) -> bool {
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

    /// Sends the log that is to be replayed, as long as it is now.
    async fn send_log(&self, request: &Request, writer: &mut OwnedWriteHalf) -> io::Result<bool> {
        // A plain file, as was looked at when the server started: reading it does not wait for anybody.
        let opened = self.log.as_ref().map(|path| {
            let file = zot_files::open_existing(path)?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((file, length))
        });
        let (mut file, length) = match opened {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => {
                let words = format!("the log cannot be read: {error}");
                let response = Response::failure(404, &words);
                response.write(writer, request.keep_alive).await?;
                return Ok(request.keep_alive);
            }
            None => {
                let response = Response::failure(404, "there is no log here; see --replay");
                response.write(writer, request.keep_alive).await?;
                return Ok(request.keep_alive);
            }
        };
        let kind = "application/x-ndjson";
        write_all(writer, &head(200, kind, Some(length), request.keep_alive)).await?;
        let mut left = length;
        let mut chunk = vec![0; LOG_CHUNK];
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(LOG_CHUNK).min(LOG_CHUNK);
            let read = file.read(&mut chunk[..wanted])?;
            if read == 0 {
                // It has become shorter; what was promised cannot be kept.
                return Ok(false);
            }
            write_all(writer, &chunk[..read]).await?;
            left -= read as u64;
        }
        Ok(request.keep_alive)
    }
}
