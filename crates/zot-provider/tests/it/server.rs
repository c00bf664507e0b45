//! A raw TCP server that follows a script, one step per connection or request.

use std::io::Write;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) struct Server {
    listener: TcpListener,
}

/// A connection from the client under test.
pub(crate) struct Peer {
    stream: TcpStream,
    buffer: Vec<u8>,
}

/// A request as it came over the wire.
pub(crate) struct Received {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::start_on("127.0.0.1:0").await
    }

    pub(crate) async fn start_on(address: &str) -> Self {
        Self {
            listener: TcpListener::bind(address).await.unwrap(),
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.listener.local_addr().unwrap()
    }

    pub(crate) async fn accept(&self) -> Peer {
        let (stream, _) = self.listener.accept().await.unwrap();
        Peer {
            stream,
            buffer: Vec::new(),
        }
    }
}

impl Peer {
    /// Reads one request.
    pub(crate) async fn request(&mut self) -> Received {
        loop {
            if let Some(received) = self.parse() {
                return received;
            }
            let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
            assert_ne!(read, 0, "the client closed before its request was complete");
        }
    }

    /// Reads the first bytes of a request, whatever they are.
    pub(crate) async fn first_bytes(&mut self) {
        let read = self.stream.read_buf(&mut self.buffer).await.unwrap();
        assert_ne!(read, 0, "the client closed before its request began");
    }

    /// Sends until the client has closed.
    pub(crate) async fn flood(mut self, piece: &str) {
        while self.stream.write_all(piece.as_bytes()).await.is_ok() {}
    }

    /// Sends from another thread, as fast as it can be read, until the client has closed.
    pub(crate) fn flood_from_a_thread(self, piece: String) {
        let mut stream = self.stream.into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        std::thread::spawn(move || while stream.write_all(piece.as_bytes()).is_ok() {});
    }

    fn parse(&mut self) -> Option<Received> {
        let end = self.buffer.windows(4).position(|w| w == b"\r\n\r\n")? + 4;
        let head = String::from_utf8(self.buffer[..end].to_vec()).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .unwrap()
            .parse()
            .unwrap();
        if self.buffer.len() < end + length {
            return None;
        }
        let body = self.buffer[end..end + length].to_vec();
        self.buffer.drain(..end + length);
        Some(Received { head, body })
    }

    pub(crate) async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.unwrap();
    }

    pub(crate) async fn send_chunk(&mut self, text: &str) {
        self.send(&format!("{:x}\r\n{text}\r\n", text.len())).await;
    }

    pub(crate) async fn respond(&mut self, status: u16, headers: &str, body: &str) {
        let length = body.len();
        self.send(&format!(
            "HTTP/1.1 {status} X\r\n{headers}content-length: {length}\r\n\r\n{body}"
        ))
        .await;
    }

    /// Accepts a request with a chunked response and leaves it open.
    pub(crate) async fn begin(&mut self) {
        self.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
            .await;
    }

    /// a complete response that says `text`.
    pub(crate) async fn say(&mut self, text: &str) {
        self.begin().await;
        self.send_chunk(&delta(text)).await;
        self.send_chunk("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n")
            .await;
        self.send_chunk("data: [DONE]\n\n").await;
        self.send("0\r\n\r\n").await;
    }

    /// Closes so that the client sees a reset instead of an end.
    pub(crate) fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// Waits until the client has closed.
    pub(crate) async fn closed(mut self) {
        let mut rest = Vec::new();
        let _ = self.stream.read_to_end(&mut rest).await;
    }
}

pub(crate) fn delta(text: &str) -> String {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n")
}
