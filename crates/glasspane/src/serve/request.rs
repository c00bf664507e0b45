//! The head of a request, read with limits. There are no bodies.

use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::time::timeout;

/// How long a head may be. Browsers send one or two kibibytes.
///
/// Limit: status 431.
pub const MAX_REQUEST_HEAD_BYTES: usize = 16 * 1024;

/// How many header fields it may have.
///
/// Limit: status 431.
pub const MAX_REQUEST_HEADERS: usize = 64;

/// How long a client may take to send one, from when we began to wait.
///
/// Limit: status 408.
pub const REQUEST_HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// What a request asks for, as far as we care.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Vec<(String, String)>,
    /// `None`: not there, or more than once.
    pub(super) host: Option<String>,
    pub(super) last_event_id: Option<String>,
    /// Whether the client wants to ask for more on this connection.
    pub(super) keep_alive: bool,
}

/// Why there is no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The client has left, or was silent for too long between two requests: nothing is to be said.
    Silence,
    /// It began and did not go on.
    Timeout,
    TooLarge,
    Malformed,
    /// It has a body.
    Body,
}

/// Reads heads from a connection, one after the other.
#[derive(Debug, Default)]
pub(super) struct Heads {
    buffer: Vec<u8>,
}

impl Heads {
    /// Reads the next one. Cancelling it in between loses nothing that was read.
    pub(super) async fn next(
        &mut self,
        reader: &mut (impl AsyncRead + Unpin),
    ) -> Result<Request, Refusal> {
        let buffer = &mut self.buffer;
        let found = timeout(REQUEST_HEAD_TIMEOUT, async {
            loop {
                if let Some((request, length)) = parse(buffer)? {
                    return Ok((request, length));
                }
                if buffer.len() >= MAX_REQUEST_HEAD_BYTES {
                    return Err(Refusal::TooLarge);
                }
                let room = (MAX_REQUEST_HEAD_BYTES - buffer.len()) as u64;
                match (&mut *reader).take(room).read_buf(buffer).await {
                    Ok(0) if buffer.is_empty() => return Err(Refusal::Silence),
                    Ok(0) => return Err(Refusal::Malformed),
                    Ok(_) => {}
                    Err(_) => return Err(Refusal::Silence),
                }
            }
        })
        .await;
        let (request, length) = match found {
            Ok(found) => found?,
            Err(_) if self.buffer.is_empty() => return Err(Refusal::Silence),
            Err(_) => return Err(Refusal::Timeout),
        };
        self.buffer.drain(..length);
        Ok(request)
    }
}

/// The request at the beginning of `bytes` and how long its head is; `None`: more has to come.
fn parse(bytes: &[u8]) -> Result<Option<(Request, usize)>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_REQUEST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::TooLarge),
        Err(_) => return Err(Refusal::Malformed),
    };
    let values = |name: &str| {
        head.headers
            .iter()
            .filter(move |header| header.name.eq_ignore_ascii_case(name))
            .map(|header| std::str::from_utf8(header.value).ok())
            .collect::<Vec<_>>()
    };
    let one = |name: &str| match values(name).as_slice() {
        [Some(value)] => Some((*value).to_owned()),
        _ => None,
    };
    let has_body = !values("transfer-encoding").is_empty()
        || values("content-length")
            .iter()
            .any(|value| value.is_none_or(|value| value.trim() != "0"));
    if has_body {
        return Err(Refusal::Body);
    }
    let target = head.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let connection = one("connection").unwrap_or_default().to_ascii_lowercase();
    let request = Request {
        method: head.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query
            .split('&')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        host: one("host"),
        last_event_id: one("last-event-id"),
        keep_alive: head.version == Some(1) && connection != "close",
    };
    Ok(Some((request, length)))
}

impl Request {
    /// A value of the query, as it was sent. A name that is there twice has none.
    pub(super) fn query(&self, name: &str) -> Option<&str> {
        let mut values = self.query.iter().filter(|(key, _)| key == name);
        let value = values.next().map(|(_, value)| value.as_str());
        if values.next().is_some() { None } else { value }
    }
}

/// The host of a `Host` header without its port.
pub(super) fn host_name(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => match host.find(':') {
            Some(colon) => host.split_at(colon),
            None => (host, ""),
        },
    };
    let port = rest.strip_prefix(':').unwrap_or(rest);
    let whole = port.len() == rest.len() && port.is_empty()
        || port.len() < rest.len() && port.parse::<u16>().is_ok();
    (whole && !name.is_empty()).then_some(name)
}
