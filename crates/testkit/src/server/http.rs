//! The parts of HTTP/1.1 that the server needs.

use std::collections::BTreeMap;
use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// The largest request: a long conversation with images.
const MAX_REQUEST: usize = 256 << 20;

pub(super) const STREAM_HEAD: &[u8] = b"HTTP/1.1 200 OK\r\n\
    content-type: text/event-stream; charset=utf-8\r\n\
    cache-control: no-cache\r\n\
    transfer-encoding: chunked\r\n\
    connection: keep-alive\r\n\r\n";

pub(super) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    /// Without its question mark.
    pub(super) query: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// Reads the next request and leaves the rest in `buffer`; `None` if the peer closed the connection.
pub(super) async fn read_request(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Request>> {
    let mut continued = false;
    loop {
        if let Some(head_end) = find(buffer, b"\r\n\r\n", 0) {
            let (method, path, query, headers) = parse_head(&buffer[..head_end])?;
            let expects = headers.get("expect").is_some_and(|v| v == "100-continue");
            if expects && !continued {
                continued = true;
                stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await?;
            }
            if let Some((body, used)) = take_body(buffer, head_end + 4, &headers)? {
                buffer.drain(..used);
                return Ok(Some(Request {
                    method,
                    path,
                    query,
                    headers,
                    body,
                }));
            }
        }
        if buffer.len() > MAX_REQUEST {
            return Err(io::Error::other("request too large"));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Returns a complete response with a length.
pub(super) fn whole(
    status: u16,
    content_type: &str,
    body: &str,
    headers: &[(String, String)],
) -> Vec<u8> {
    let lines: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    let length = body.len();
    format!(
        "HTTP/1.1 {status} {}\r\ncontent-type: {content_type}\r\n\
         content-length: {length}\r\n{lines}\r\n{body}",
        reason(status)
    )
    .into_bytes()
}

/// Appends `payload` to `out` as one chunk, unless it is empty: an empty chunk ends the body.
pub(super) fn push_chunk(out: &mut Vec<u8>, payload: &[u8]) {
    if payload.is_empty() {
        return;
    }
    out.extend_from_slice(format!("{:x}\r\n", payload.len()).as_bytes());
    out.extend_from_slice(payload);
    out.extend_from_slice(b"\r\n");
}

type Head = (String, String, String, BTreeMap<String, String>);

fn parse_head(head: &[u8]) -> io::Result<Head> {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(io::Error::other("malformed request line"));
    };
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| {
        let name = name.trim().to_ascii_lowercase();
        (name, value.trim().to_owned())
    });
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    Ok((method.to_owned(), path, query, headers.collect()))
}

/// Returns the body that starts at `start` and its end, if it is complete.
fn take_body(
    buffer: &[u8],
    start: usize,
    headers: &BTreeMap<String, String>,
) -> io::Result<Option<(Vec<u8>, usize)>> {
    if headers
        .get("transfer-encoding")
        .is_some_and(|v| v == "chunked")
    {
        return dechunk(buffer, start);
    }
    let length = headers.get("content-length").map_or(Ok(0), |v| v.parse());
    let length: usize = length.map_err(io::Error::other)?;
    let end = start + length;
    Ok(buffer.get(start..end).map(|body| (body.to_vec(), end)))
}

fn dechunk(buffer: &[u8], mut position: usize) -> io::Result<Option<(Vec<u8>, usize)>> {
    let mut body = Vec::new();
    loop {
        let Some(line_end) = find(buffer, b"\r\n", position) else {
            return Ok(None);
        };
        let size = String::from_utf8_lossy(&buffer[position..line_end]);
        let size = size.split(';').next().unwrap_or_default().trim();
        let size = usize::from_str_radix(size, 16).map_err(io::Error::other)?;
        let start = line_end + 2;
        let Some(payload) = buffer.get(start..start + size + 2) else {
            return Ok(None);
        };
        position = start + size + 2;
        if size == 0 {
            return Ok(Some((body, position)));
        }
        body.extend_from_slice(&payload[..size]);
    }
}

fn find(haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let haystack = haystack.get(from..)?;
    let found = haystack.windows(needle.len()).position(|w| w == needle)?;
    Some(from + found)
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Overloaded",
        _ => "X",
    }
}
