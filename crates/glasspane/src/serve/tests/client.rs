//! A server in this process, and a client that sends exactly what a test specifies.

use std::path::PathBuf;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::serve::{Server, Token};
use crate::{AgentHandle, Attached, Hub};

pub(super) struct Running {
    pub(super) hub: Hub,
    pub(super) address: std::net::SocketAddr,
    pub(super) token: String,
    cancel: CancellationToken,
    tasks: JoinSet<()>,
}

pub(super) async fn start() -> Running {
    start_with(None, &[]).await
}

pub(super) async fn start_with(log: Option<PathBuf>, hosts: &[&str]) -> Running {
    let hub = Hub::new();
    let token = Token::random().unwrap();
    let hosts = hosts.iter().map(|host| (*host).to_owned()).collect();
    let loopback = "127.0.0.1:0".parse().unwrap();
    let server = Server::bind(loopback, hub.clone(), token.clone(), log, hosts)
        .await
        .unwrap();
    let cancel = CancellationToken::new();
    let address = server.address();
    assert_eq!(
        server.url(),
        format!("http://{address}/?token={}", token.as_str())
    );
    let mut tasks = JoinSet::new();
    tasks.spawn(server.run(cancel.clone()));
    Running {
        hub,
        address,
        token: token.as_str().to_owned(),
        cancel,
        tasks,
    }
}

impl Running {
    pub(super) fn agent(&self, label: &str) -> AgentHandle {
        self.hub.attach(Attached {
            label: label.to_owned(),
            source: "zot".to_owned(),
            ..Attached::default()
        })
    }

    pub(super) async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends `request` and reads until the server closes the connection.
    pub(super) async fn exchange(&self, request: &str) -> String {
        let mut stream = self.connect().await;
        // The server may respond and close before it has read all of a request that is too large.
        let _ = stream.write_all(request.as_bytes()).await;
        let mut response = Vec::new();
        let _ = stream.read_to_end(&mut response).await;
        String::from_utf8(response).unwrap()
    }

    /// Returns the response to a GET for `target`.
    pub(super) async fn get(&self, target: &str) -> String {
        self.exchange(&format!(
            "GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
        ))
        .await
    }

    pub(super) async fn watch(&self, id: Option<&str>) -> Watch {
        let mut stream = self.connect().await;
        let token = &self.token;
        let id = id.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let request = format!("GET /events?token={token} HTTP/1.1\r\nHost: localhost\r\n{id}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut watch = Watch {
            stream,
            chunked: String::new(),
            rest: String::new(),
        };
        let head = watch.head().await;
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(head.contains("Content-Type: text/event-stream"), "{head}");
        assert!(head.contains("Transfer-Encoding: chunked"), "{head}");
        watch
    }

    pub(super) async fn stop(mut self) {
        self.cancel.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }
}

/// One watcher's end of the feed.
pub(super) struct Watch {
    pub(super) stream: TcpStream,
    /// Bytes that are not part of a complete chunk yet.
    chunked: String,
    /// The content of chunks that was not read yet.
    rest: String,
}

pub(super) struct Message {
    pub(super) event: String,
    pub(super) id: String,
    pub(super) data: Value,
}

impl Watch {
    /// Returns the next message, skipping comments; `None` when the server has closed the connection.
    pub(super) async fn next(&mut self) -> Option<Message> {
        loop {
            let text = self.until("\n\n").await?;
            let field = |name: &str| {
                text.lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(|value| value.trim_start().to_owned())
            };
            if let Some(data) = field("data:") {
                return Some(Message {
                    event: field("event:").unwrap(),
                    id: field("id:").unwrap(),
                    data: serde_json::from_str(&data).unwrap(),
                });
            }
        }
    }

    async fn head(&mut self) -> String {
        loop {
            if let Some(end) = self.chunked.find("\r\n\r\n") {
                let rest = self.chunked.split_off(end + 4);
                return std::mem::replace(&mut self.chunked, rest);
            }
            self.read().await.unwrap();
        }
    }

    async fn until(&mut self, end: &str) -> Option<String> {
        let mut searched = 0;
        loop {
            if let Some(position) = self.rest[searched..].find(end) {
                let rest = self.rest.split_off(searched + position + end.len());
                return Some(std::mem::replace(&mut self.rest, rest));
            }
            searched = self.rest.len().saturating_sub(end.len());
            while !self.take_chunk() {
                self.read().await?;
            }
        }
    }

    /// Decodes one complete chunk.
    fn take_chunk(&mut self) -> bool {
        let Some((length, _)) = self.chunked.split_once("\r\n") else {
            return false;
        };
        let start = length.len() + 2;
        let end = start + usize::from_str_radix(length, 16).unwrap();
        if self.chunked.len() < end + 2 {
            return false;
        }
        self.rest.push_str(&self.chunked[start..end]);
        self.chunked.drain(..end + 2);
        true
    }

    async fn read(&mut self) -> Option<()> {
        let mut buffer = vec![0; 64 * 1024];
        let count = self.stream.read(&mut buffer).await.ok()?;
        // Everything in these tests is ASCII.
        let text = std::str::from_utf8(&buffer[..count]).unwrap();
        self.chunked.push_str(text);
        (count > 0).then_some(())
    }
}

pub(super) fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or("none")
}
