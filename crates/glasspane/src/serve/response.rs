//! Answers, all with the headers that keep the page to itself.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;

use super::request::Refusal;

/// How long one write may wait for a client that does not read.
///
/// Limit: a client that reads nothing is disconnected.
pub const RESPONSE_WRITE_TIMEOUT: Duration = Duration::from_secs(20);

/// No code, style, image or connection but from here, and no page around this one. The page has no inline code.
const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is answered, but for streams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Response {
    pub(super) fn of(kind: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            kind,
            body: body.into(),
        }
    }

    pub(super) fn failure(status: u16, words: &str) -> Self {
        Self {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{words}\n").into_bytes(),
        }
    }

    /// What is said to a request that is none; nothing to who has left.
    pub(super) fn refusal(refusal: Refusal) -> Option<Self> {
        Some(match refusal {
            Refusal::Silence => return None,
            Refusal::Timeout => Self::failure(408, "the request took too long"),
            Refusal::TooLarge => Self::failure(431, "the request is too large"),
            Refusal::Malformed => Self::failure(400, "this is not a request"),
            Refusal::Body => Self::failure(413, "requests have no body here"),
        })
    }

    pub(super) async fn write(
        &self,
        writer: &mut (impl AsyncWrite + Unpin),
        keep_alive: bool,
    ) -> io::Result<()> {
        let mut bytes = head(
            self.status,
            self.kind,
            Some(self.body.len() as u64),
            keep_alive,
        );
        bytes.extend_from_slice(&self.body);
        write_all(writer, &bytes).await
    }
}

/// The head of an answer; without a length it ends with the connection.
pub(super) fn head(status: u16, kind: &str, length: Option<u64>, keep_alive: bool) -> Vec<u8> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        413 => "Content Too Large",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Error",
    };
    let connection = if keep_alive { "keep-alive" } else { "close" };
    let mut head = format!(
        "HTTP/1.1 {status} {reason}\r\n\
         Content-Type: {kind}\r\n\
         Content-Security-Policy: {CONTENT_POLICY}\r\n\
         X-Content-Type-Options: nosniff\r\n\
         X-Frame-Options: DENY\r\n\
         Referrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\n\
         Cache-Control: no-store\r\n\
         Connection: {connection}\r\n"
    );
    if let Some(length) = length {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    if status == 405 {
        head.push_str("Allow: GET\r\n");
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// Writes everything, or gives up on a client that takes none of it for too long.
pub(super) async fn write_all(
    writer: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = timeout(RESPONSE_WRITE_TIMEOUT, writer.write(bytes))
            .await
            .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        bytes = &bytes[written..];
    }
    Ok(())
}
