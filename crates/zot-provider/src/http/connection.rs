//! One HTTP/1.1 connection: writes a request, reads the head of its response, then the body.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::{Buf, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::chunked::ChunkedDecoder;
use crate::body::RequestBody;
use crate::retry::RetryHeaders;

/// The size of one read, and of the longest head of a response.
///
/// Limit: a longer response head is refused.
const HEAD_BUFFER_BYTES: usize = 32 * 1024;

/// Limit: the response head is refused.
const MAX_RESPONSE_HEADERS: usize = 128;

/// The most interim responses before the final one.
///
/// Limit: error.
const MAX_INTERIM_RESPONSES: u32 = 32;

/// Pieces of a request that go into one system call.
///
/// Limit: the rest follows in the next write.
const MAX_WRITE_SLICES: usize = 32;

/// The stream that a connection uses.
pub(crate) trait Io: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Io for T {}

/// A request without a response.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// Not a byte of a response arrived: the request may be sent again.
    #[error("{0}")]
    NoResponse(io::Error),
    #[error("{0}")]
    Broken(io::Error),
    #[error("not an HTTP response: {0}")]
    Malformed(String),
}

/// The parts of a response's head that matter here.
#[derive(Debug)]
pub(crate) struct ResponseHead {
    pub(crate) status: StatusCode,
    pub(crate) retry: RetryHeaders,
    pub(crate) location: Option<String>,
    /// The coding of a compressed body, which we never request.
    pub(crate) compression: Option<String>,
    pub(crate) content_type: Option<String>,
    /// All header fields, where they were asked for.
    pub(super) all: HeaderMap,
    pub(super) framing: Framing,
    pub(super) keep_alive: bool,
}

/// Which header fields of a response are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    /// Those that model clients need, by name.
    Known,
    /// All of them as well, for protocols with fields of their own.
    All,
}

/// How the end of a body is detected.
#[derive(Debug)]
pub(super) enum Framing {
    Chunked(ChunkedDecoder),
    Length(u64),
    UntilClose,
}

pub(crate) struct Connection {
    io: Box<dyn Io>,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    /// Whether the whole request was sent, so that another may follow.
    clean: bool,
    /// How many interim responses this request has had.
    interim: u32,
    keep: Keep,
}

impl Connection {
    pub(crate) fn new(io: impl Io + 'static) -> Self {
        Self {
            io: Box::new(io),
            buffer: vec![0; HEAD_BUFFER_BYTES].into_boxed_slice(),
            start: 0,
            end: 0,
            clean: true,
            interim: 0,
            keep: Keep::Known,
        }
    }

    /// Chooses which header fields of the next responses are kept.
    pub(super) fn keep(&mut self, keep: Keep) {
        self.keep = keep;
    }

    /// Sends `head` and `body` and reads the head of the response.
    pub(crate) async fn exchange(
        &mut self,
        head: Bytes,
        body: &RequestBody,
    ) -> Result<ResponseHead, ExchangeError> {
        let mut outgoing: VecDeque<Bytes> = VecDeque::with_capacity(1 + body.pieces().len());
        outgoing.push_back(head);
        outgoing.extend(body.pieces().iter().cloned());
        let mut failed = None;
        self.interim = 0;
        poll_fn(|context| self.poll_exchange(context, &mut outgoing, &mut failed)).await
    }

    /// Sends and reads concurrently: an interim response may arrive while the request is being sent,
    /// and a server that refuses it responds early and closes. `failed` is why sending ended.
    fn poll_exchange(
        &mut self,
        context: &mut Context<'_>,
        outgoing: &mut VecDeque<Bytes>,
        failed: &mut Option<io::Error>,
    ) -> Poll<Result<ResponseHead, ExchangeError>> {
        if failed.is_none()
            && let Poll::Ready(Err(error)) = self.poll_send(context, outgoing)
        {
            *failed = Some(error);
        }
        loop {
            if let Some(head) = self.parse_head()? {
                self.clean = failed.is_none() && outgoing.is_empty();
                return Poll::Ready(Ok(head));
            }
            let error = match ready!(self.poll_fill(context)) {
                Ok(0) => io::Error::new(io::ErrorKind::UnexpectedEof, "unexpected EOF"),
                Ok(_) => continue,
                Err(error) => error,
            };
            return Poll::Ready(Err(match self.buffered().is_empty() {
                true => ExchangeError::NoResponse(failed.take().unwrap_or(error)),
                false => ExchangeError::Broken(error),
            }));
        }
    }

    fn poll_send(
        &mut self,
        context: &mut Context<'_>,
        outgoing: &mut VecDeque<Bytes>,
    ) -> Poll<io::Result<()>> {
        while !outgoing.is_empty() {
            let mut slices = [IoSlice::new(&[]); MAX_WRITE_SLICES];
            let mut count = 0;
            for (slice, piece) in slices.iter_mut().zip(outgoing.iter()) {
                *slice = IoSlice::new(piece);
                count += 1;
            }
            let slices = slices.get(..count).unwrap_or_default();
            match ready!(Pin::new(&mut self.io).poll_write_vectored(context, slices))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => advance(outgoing, written),
            }
        }
        Pin::new(&mut self.io).poll_flush(context)
    }

    /// Appends one read to the buffer; returns zero at the end of the stream.
    fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.end == self.buffer.len() {
            // An interim response was read before what is left.
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let free = self.buffer.get_mut(self.end..).unwrap_or_default();
        let mut buffer = ReadBuf::new(free);
        ready!(Pin::new(&mut self.io).poll_read(context, &mut buffer))?;
        let read = buffer.filled().len();
        self.end += read;
        Poll::Ready(Ok(read))
    }

    fn buffered(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    fn parse_head(&mut self) -> Result<Option<ResponseHead>, ExchangeError> {
        loop {
            let mut headers = [httparse::EMPTY_HEADER; MAX_RESPONSE_HEADERS];
            let mut response = httparse::Response::new(&mut headers);
            let parsed = parser()
                .parse_response(&mut response, self.buffered())
                .map_err(|error| ExchangeError::Malformed(error.to_string()))?;
            let httparse::Status::Complete(length) = parsed else {
                return match self.end - self.start < HEAD_BUFFER_BYTES {
                    true => Ok(None),
                    false => Err(ExchangeError::Malformed(format!(
                        "the head is longer than {HEAD_BUFFER_BYTES} bytes (HEAD_BUFFER_BYTES)"
                    ))),
                };
            };
            let head = response_head(&response, self.keep)?;
            self.start += length;
            // An interim response precedes the final one.
            if !head.status.is_informational() {
                return Ok(Some(head));
            }
            self.interim += 1;
            if self.interim > MAX_INTERIM_RESPONSES {
                return Err(ExchangeError::Malformed(format!(
                    "more than {MAX_INTERIM_RESPONSES} interim responses (MAX_INTERIM_RESPONSES)"
                )));
            }
        }
    }

    /// Decodes what is buffered or, when nothing is, what arrives next.
    pub(super) fn poll_body(
        &mut self,
        context: &mut Context<'_>,
        framing: &mut Framing,
        sink: &mut impl FnMut(&[u8]),
    ) -> Poll<io::Result<BodyPart>> {
        if framing.has_ended() {
            return Poll::Ready(Ok(BodyPart::End));
        }
        if self.start == self.end && ready!(self.poll_fill(context))? == 0 {
            return Poll::Ready(match framing {
                Framing::UntilClose => {
                    self.clean = false;
                    Ok(BodyPart::End)
                }
                _ => Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "unexpected EOF",
                )),
            });
        }
        let consumed = framing.decode(self.buffered(), sink)?;
        self.start += consumed;
        Poll::Ready(Ok(match framing.has_ended() {
            true => BodyPart::End,
            false => BodyPart::More,
        }))
    }

    /// Returns whether another request may be sent after a response that was read to its end.
    pub(super) fn is_reusable(&self) -> bool {
        self.clean && self.start == self.end
    }

    /// Returns whether the server is known to have closed an idle connection or sent data without a
    /// request.
    pub(super) fn is_stale(&mut self) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        self.poll_fill(&mut context).is_ready()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyPart {
    More,
    End,
}

impl Framing {
    fn has_ended(&self) -> bool {
        match self {
            Self::Chunked(decoder) => decoder.has_ended(),
            Self::Length(remaining) => *remaining == 0,
            Self::UntilClose => false,
        }
    }

    fn decode(&mut self, input: &[u8], sink: &mut impl FnMut(&[u8])) -> io::Result<usize> {
        match self {
            Self::Chunked(decoder) => decoder
                .decode(input, sink)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error)),
            Self::Length(remaining) => {
                let length = usize::try_from(*remaining).unwrap_or(usize::MAX);
                let data = input.get(..length).unwrap_or(input);
                sink(data);
                *remaining -= data.len() as u64;
                Ok(data.len())
            }
            Self::UntilClose => {
                sink(input);
                Ok(input.len())
            }
        }
    }
}

/// Tolerates obsolete forms of old servers and gateways where they are unambiguous.
fn parser() -> httparse::ParserConfig {
    let mut parser = httparse::ParserConfig::default();
    parser.allow_obsolete_multiline_headers_in_responses(true);
    parser
}

fn advance(outgoing: &mut VecDeque<Bytes>, mut written: usize) {
    while let Some(piece) = outgoing.front_mut() {
        if written < piece.len() {
            piece.advance(written);
            return;
        }
        written -= piece.len();
        outgoing.pop_front();
    }
}

fn response_head(
    response: &httparse::Response<'_, '_>,
    keep: Keep,
) -> Result<ResponseHead, ExchangeError> {
    let malformed = |reason: &str| ExchangeError::Malformed(reason.to_owned());
    let status = StatusCode::from_u16(response.code.unwrap_or_default())
        .map_err(|_| malformed("no valid status"))?;
    let mut keep_alive = response.version == Some(1);
    let mut chunked = false;
    let mut length = None;
    let mut retry = RetryHeaders::default();
    let mut location = None;
    let mut compression = None;
    let mut content_type = None;
    for header in &*response.headers {
        let value = String::from_utf8_lossy(header.value);
        let value = value.trim();
        match header.name.to_ascii_lowercase().as_str() {
            "connection" => keep_alive &= !has_token(value, "close"),
            "transfer-encoding" => {
                // We offer no other coding, so `chunked` can only be the last and the only one.
                chunked = true;
                if !value.eq_ignore_ascii_case("chunked") {
                    return Err(malformed("unknown transfer coding"));
                }
            }
            "content-length" => {
                let parsed: u64 = value
                    .parse()
                    .map_err(|_| malformed("invalid content length"))?;
                if length.is_some_and(|length| length != parsed) {
                    return Err(malformed("two content lengths"));
                }
                length = Some(parsed);
            }
            "location" => location = Some(value.to_owned()),
            "content-type" => content_type = Some(value.to_owned()),
            "content-encoding" if !value.eq_ignore_ascii_case("identity") => {
                compression = Some(value.to_owned()).filter(|value| !value.is_empty());
            }
            name => retry.add(name, value),
        }
    }
    let framing = match length {
        _ if matches!(status.as_u16(), 204 | 304) => Framing::Length(0),
        _ if chunked => Framing::Chunked(ChunkedDecoder::new()),
        Some(length) => Framing::Length(length),
        None => Framing::UntilClose,
    };
    // Both framings at once are a sign of request smuggling: do not reuse the connection.
    keep_alive &= !(chunked && length.is_some());
    let all = match keep {
        Keep::Known => HeaderMap::new(),
        Keep::All => all_headers(response),
    };
    Ok(ResponseHead {
        status,
        retry,
        location,
        compression,
        content_type,
        all,
        framing,
        keep_alive,
    })
}

/// Returns every field that is valid; httparse tolerates bytes that are not.
fn all_headers(response: &httparse::Response<'_, '_>) -> HeaderMap {
    let fields = response.headers.iter().filter_map(|header| {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        let value = HeaderValue::from_bytes(header.value.trim_ascii()).ok()?;
        Some((name, value))
    });
    let mut all = HeaderMap::new();
    for (name, value) in fields {
        all.append(name, value);
    }
    all
}

fn has_token(value: &str, token: &str) -> bool {
    value
        .split(',')
        .any(|part| part.trim().eq_ignore_ascii_case(token))
}

#[cfg(test)]
mod tests;
