//! A client of `zot mcp serve --http`, over real sockets.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use serde_json::{Value, json};
use testkit::{PATIENCE, Workdir, Zot};

use super::client::{MODERN, modern_meta, serve};

/// A running server, and how to reach it.
pub(super) struct Server {
    pub(super) zot: Zot,
    pub(super) address: SocketAddr,
    pub(super) token: String,
}

/// A response whose body is read as it comes.
pub(super) struct Reply {
    pub(super) status: u16,
    /// Names in lower case.
    pub(super) headers: HashMap<String, String>,
    stream: BufReader<TcpStream>,
}

impl Server {
    pub(super) fn start(workdir: &Workdir, arguments: &[&str]) -> Self {
        let arguments = [&["--http", "127.0.0.1:0"], arguments].concat();
        let (mut zot, stdout) = serve(workdir, &arguments).spawn_unread();
        zot.close_stdin();
        let mut lines = BufReader::new(stdout).lines();
        let mut line = || lines.next().unwrap().unwrap();
        let (url, token) = (line(), line());
        let address = url.strip_prefix("http://").unwrap();
        let address = address.strip_suffix("/mcp").unwrap().parse().unwrap();
        let token = token.strip_prefix("Authorization: Bearer ").unwrap();
        Self {
            address,
            token: token.to_owned(),
            zot,
        }
    }

    /// Sends a request as it is.
    pub(super) fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Reply {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        Reply::read(stream)
    }

    /// Posts a message with the usual headers and these.
    pub(super) fn post(&self, headers: &[(&str, &str)], message: &Value) -> Reply {
        let bearer = format!("Bearer {}", self.token);
        let usual = [
            ("Host", "127.0.0.1"),
            ("Authorization", bearer.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        self.raw(
            "POST",
            "/mcp",
            &[&usual, headers].concat(),
            &message.to_string(),
        )
    }

    /// Begins a session of a legacy client and returns its name.
    pub(super) fn initialize(&self, capabilities: &Value) -> String {
        let message = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "test", "version": "1"},
        }});
        let mut reply = self.post(&[], &message);
        assert_eq!(reply.status, 200);
        let session = reply.headers["mcp-session-id"].clone();
        assert_eq!(reply.message()["result"]["protocolVersion"], "2025-11-25");
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.legacy(&session, &initialized).status, 202);
        session
    }

    pub(super) fn legacy(&self, session: &str, message: &Value) -> Reply {
        let headers = [
            ("Mcp-Session-Id", session),
            ("MCP-Protocol-Version", "2025-11-25"),
        ];
        self.post(&headers, message)
    }

    /// Sends a modern request with the headers that belong to it.
    pub(super) fn modern(&self, method: &str, capabilities: &Value, mut params: Value) -> Reply {
        let mut meta = modern_meta(capabilities);
        if let Some(token) = params["_meta"].get("progressToken") {
            meta["progressToken"] = token.clone();
        }
        params["_meta"] = meta;
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let mut headers = vec![("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)];
        if !name.is_empty() {
            headers.push(("Mcp-Name", &name));
        }
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        self.post(&headers, &message)
    }
}

impl Reply {
    fn read(stream: TcpStream) -> Self {
        let mut stream = BufReader::new(stream);
        let mut line = || {
            let mut line = String::new();
            stream.read_line(&mut line).unwrap();
            line.trim_end().to_owned()
        };
        let status = line();
        let status = status.split(' ').nth(1).unwrap_or_default();
        let status = status.parse().unwrap_or_else(|_| panic!("no status"));
        let mut headers = HashMap::new();
        loop {
            let header = line();
            let Some((name, value)) = header.split_once(": ") else {
                break;
            };
            headers.insert(name.to_ascii_lowercase(), value.to_owned());
        }
        Self {
            status,
            headers,
            stream,
        }
    }

    /// Reads the body of a response that has a length.
    pub(super) fn body(&mut self) -> String {
        let length = self.headers.get("content-length");
        let length = length.map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).unwrap();
        String::from_utf8(body).unwrap()
    }

    /// Reads the one message of a response.
    pub(super) fn message(&mut self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json");
        let body = self.body();
        serde_json::from_str(&body).unwrap_or_else(|_| panic!("expected JSON: {body}"))
    }

    /// Reads the next message of a stream of events; `None` at its end.
    pub(super) fn event(&mut self) -> Option<Value> {
        assert_eq!(self.headers["content-type"], "text/event-stream");
        loop {
            let mut size = String::new();
            self.stream.read_line(&mut size).unwrap();
            let size = usize::from_str_radix(size.trim(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            if size == 0 {
                return None;
            }
            let chunk = String::from_utf8(chunk).unwrap();
            let data = chunk.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(data) = data {
                return Some(serde_json::from_str(data).unwrap());
            }
        }
    }

    /// Reads a stream of events to its end.
    pub(super) fn events(&mut self) -> Vec<Value> {
        std::iter::from_fn(|| self.event()).collect()
    }
}
