//! An HTTP server whose responses are a function of the requests, for protocols other than those of models.

#[cfg(test)]
mod tests;

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often a stream without data checks whether its client has gone.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// A request as it came.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    pub method: String,
    /// With the query.
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// Returns the path, without the query.
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns the value of a header; names have no case.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON; null if it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A response.
pub struct HttpReply {
    status: u16,
    headers: Vec<(String, String)>,
    body: ReplyBody,
}

enum ReplyBody {
    Whole(Vec<u8>),
    /// Ends when the sender is dropped.
    Streamed(Receiver<Vec<u8>>),
    /// The connection is closed without a response.
    HangUp,
}

impl HttpReply {
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: ReplyBody::Whole(body.into()),
        }
    }

    pub fn json(value: &serde_json::Value) -> Self {
        Self::new(200, value.to_string()).with("content-type", "application/json")
    }

    /// Returns events that are complete from the start.
    pub fn events(text: impl Into<String>) -> Self {
        Self::new(200, text.into()).with("content-type", "text/event-stream")
    }

    /// Returns a body that is sent as it comes, and ends when its sender is dropped.
    pub fn streamed(pieces: Receiver<Vec<u8>>) -> Self {
        Self {
            status: 200,
            headers: Vec::new(),
            body: ReplyBody::Streamed(pieces),
        }
        .with("content-type", "text/event-stream")
    }

    pub fn hang_up() -> Self {
        Self {
            status: 0,
            headers: Vec::new(),
            body: ReplyBody::HangUp,
        }
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}

type Handler = dyn Fn(&HttpRequest) -> HttpReply + Send + Sync;

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<HttpRequest>>,
    abandoned: AtomicUsize,
    connections: AtomicUsize,
    stopping: AtomicBool,
}

/// A running server; dropping it stops accepting connections.
pub struct HttpScript {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl HttpScript {
    /// Starts a server on a free port of 127.0.0.1.
    pub fn start(handler: impl Fn(&HttpRequest) -> HttpReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bind a loopback port");
        Self::start_on(listener, handler)
    }

    /// Starts a server on `listener`, whose address a handler may need to know.
    pub fn start_on(
        listener: TcpListener,
        handler: impl Fn(&HttpRequest) -> HttpReply + Send + Sync + 'static,
    ) -> Self {
        let address = listener.local_addr().expect("address of the listener");
        let shared = Arc::new(Shared::default());
        let handler: Arc<Handler> = Arc::new(handler);
        let for_thread = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            for stream in listener.incoming() {
                if for_thread.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let (shared, handler) = (Arc::clone(&for_thread), Arc::clone(&handler));
                if let Ok(stream) = stream {
                    shared.connections.fetch_add(1, Ordering::SeqCst);
                    // Ends when the client closes the connection.
                    thread::spawn(move || serve(stream, &shared, handler.as_ref()));
                }
            }
        });
        Self {
            address,
            shared,
            thread: Some(thread),
        }
    }

    /// Returns scheme, host and port.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<HttpRequest> {
        lock(&self.shared.requests).clone()
    }

    /// Returns how many connections were opened.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns how many streams were closed by their client.
    pub fn abandoned(&self) -> usize {
        self.shared.abandoned.load(Ordering::SeqCst)
    }
}

impl Drop for HttpScript {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(stream: TcpStream, shared: &Shared, handler: &Handler) {
    // Pieces go out as they come.
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Ok(Some(request)) = read_request(&mut reader) {
        lock(&shared.requests).push(request.clone());
        let reply = handler(&request);
        match send(reader.get_mut(), reply) {
            Ok(Sent::Whole) => {}
            Ok(Sent::Abandoned) => {
                shared.abandoned.fetch_add(1, Ordering::SeqCst);
                return;
            }
            Ok(Sent::HungUp) | Err(_) => return,
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<HttpRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, target) = (word(), word());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    let mut request = HttpRequest {
        method,
        target,
        headers,
        body: Vec::new(),
    };
    let length = request
        .header("content-length")
        .and_then(|length| length.parse().ok());
    request.body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

enum Sent {
    Whole,
    Abandoned,
    HungUp,
}

fn send(stream: &mut TcpStream, reply: HttpReply) -> io::Result<Sent> {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match reply.body {
        ReplyBody::HangUp => Ok(Sent::HungUp),
        ReplyBody::Whole(body) => {
            head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
            let whole = [head.as_bytes(), &body].concat();
            stream.write_all(&whole)?;
            Ok(Sent::Whole)
        }
        ReplyBody::Streamed(pieces) => {
            head.push_str("transfer-encoding: chunked\r\n\r\n");
            stream.write_all(head.as_bytes())?;
            loop {
                match pieces.recv_timeout(CHECK_INTERVAL) {
                    Ok(piece) => {
                        let head = format!("{:x}\r\n", piece.len());
                        let chunk = [head.as_bytes(), &piece, b"\r\n"].concat();
                        if stream.write_all(&chunk).is_err() {
                            return Ok(Sent::Abandoned);
                        }
                    }
                    Err(RecvTimeoutError::Timeout) if has_gone(stream) => {
                        return Ok(Sent::Abandoned);
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => {
                        stream.write_all(b"0\r\n\r\n")?;
                        return Ok(Sent::Whole);
                    }
                }
            }
        }
    }
}

fn has_gone(stream: &TcpStream) -> bool {
    if stream.set_nonblocking(true).is_err() {
        return true;
    }
    let peeked = stream.peek(&mut [0]);
    let restored = stream.set_nonblocking(false);
    restored.is_err()
        || match peeked {
            Ok(read) => read == 0,
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
}

/// Locks `mutex`, even if another test thread panicked while holding it.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
