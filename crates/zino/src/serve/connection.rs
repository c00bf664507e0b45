//! One connection: a request and its response.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use zot_wire::zino::{Frame, Request as _, Response, any_service};
use zot_wire::{FrameDecoder, write_frame};

use super::ServeOptions;
use crate::kind::ServiceKind;
use crate::request_line::{self, Outcome, RequestLine};
use crate::service::{Responses, Service};

/// How long a peer may take between two pieces of its request.
///
/// Limit: a request that stalls is refused.
pub(super) const REQUEST_STALL_TIME: Duration = Duration::from_secs(30);

/// How long a peer may take to read what is written to it.
///
/// Limit: a peer that does not read is disconnected.
pub(super) const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a peer may keep sending after its request before the connection is cut.
pub(super) const LINGER_TIME: Duration = Duration::from_secs(1);

pub(super) const READ_BYTES: usize = 16 * 1024;

/// Frames are collected up to this before they are written together.
pub(super) const WRITE_BYTES: usize = 64 * 1024;

/// Why a request could not be read.
enum BadRequest {
    /// The peer hung up before it sent anything.
    Absent,
    Reportable(String),
    Broken(io::Error),
}

pub(crate) async fn serve_connection<S: Service>(
    mut stream: UnixStream,
    service: &S,
    options: ServeOptions,
    stop: CancellationToken,
) {
    let began = Instant::now();
    let log = options.log;
    let frame = match read_request(&mut stream, options.max_frame_bytes, &stop).await {
        Ok(frame) => frame,
        Err(BadRequest::Absent) => return,
        Err(BadRequest::Reportable(message)) => {
            request_line::refused(log, service.kind(), began, &message);
            let refusal = any_service::Response::error(message);
            if write(&mut stream, &refusal).await.is_ok() {
                discard_rest(&mut stream).await;
            }
            return;
        }
        Err(BadRequest::Broken(error)) => {
            log.debug(format_args!("connection broken during a request: {error}"));
            return;
        }
    };
    let mut line = RequestLine::of_frame(log, service.kind(), &frame).since(began);
    let outcome = respond(&mut stream, service, frame, &mut line).await;
    line.end(&outcome);
    // Peers seldom send anything after the request.
    if stream.try_read(&mut [0]).is_ok_and(|count| count > 0) {
        discard_rest(&mut stream).await;
    }
}

async fn respond<S: Service>(
    stream: &mut UnixStream,
    service: &S,
    frame: Frame,
    line: &mut RequestLine,
) -> Outcome {
    let immediate = match any_service::Request::of(&frame) {
        Some(probe) => probe_response(probe, service.kind()),
        None => match S::Request::read(frame) {
            Ok(request) => return stream_response(stream, service, request, line).await,
            Err(error) => any_service::Response::error(error.to_string()),
        },
    };
    match write(stream, &immediate).await {
        Ok(()) => Outcome::of(&immediate),
        Err(_) => Outcome::HungUp,
    }
}

/// The response to a request that every service handles.
pub(crate) fn probe_response(
    request: any_service::Request,
    kind: ServiceKind,
) -> any_service::Response {
    match request {
        any_service::Request::Ping => any_service::Response::Pong,
        any_service::Request::Version => any_service::Response::Version {
            service: kind.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
    }
}

/// Shuts down our half and discards what the peer still sends: closing with unread bytes would be an
/// error for the peer, which does not read the response while it writes.
async fn discard_rest(stream: &mut UnixStream) {
    let mut buffer = vec![0; READ_BYTES];
    let discarded = async {
        stream.shutdown().await?;
        while stream.read(&mut buffer).await? > 0 {}
        io::Result::Ok(())
    };
    let _ = timeout(LINGER_TIME, discarded).await;
}

/// Reads the request, unless the service is asked to stop before one begins to arrive.
async fn read_request(
    stream: &mut UnixStream,
    limit: usize,
    stop: &CancellationToken,
) -> Result<Frame, BadRequest> {
    let mut decoder = FrameDecoder::with_limit(limit);
    let mut buffer = vec![0; READ_BYTES];
    loop {
        match decoder.next_frame() {
            Ok(Some(frame)) => {
                return Frame::parse(frame).map_err(|error| {
                    BadRequest::Reportable(format!("the request is no JSON object: {error}"))
                });
            }
            Ok(None) => {}
            Err(too_long) => return Err(BadRequest::Reportable(too_long.to_string())),
        }
        let read = tokio::select! {
            // What has arrived already belongs to a running request.
            biased;
            read = timeout(REQUEST_STALL_TIME, stream.read(&mut buffer)) => read,
            () = stop.cancelled(), if !decoder.is_partial() => return Err(BadRequest::Absent),
        };
        match read {
            Err(_) => {
                return Err(BadRequest::Reportable(
                    "the request did not arrive in time".to_owned(),
                ));
            }
            Ok(Err(error)) => return Err(BadRequest::Broken(error)),
            Ok(Ok(0)) if decoder.is_partial() => {
                return Err(BadRequest::Reportable(
                    "the request ended too early".to_owned(),
                ));
            }
            Ok(Ok(0)) => return Err(BadRequest::Absent),
            Ok(Ok(count)) => decoder.feed(&buffer[..count]),
        }
    }
}

/// Sends the response of the service, and stops when the peer hangs up.
async fn stream_response<S: Service>(
    stream: &mut UnixStream,
    service: &S,
    request: S::Request,
    line: &mut RequestLine,
) -> Outcome {
    let (responses, mut frames) = Responses::channel();
    let mut work = std::pin::pin!(service.handle(request, responses));
    let mut working = true;
    let mut outcome = Outcome::default();
    loop {
        tokio::select! {
            biased;
            frame = frames.recv() => match frame {
                Some(frame) => match forward(stream, frame, &mut frames).await {
                    Ok(last) => {
                        line.answered();
                        outcome = last;
                    }
                    Err(_) => return Outcome::HungUp,
                },
                None => return outcome,
            },
            () = &mut work, if working => working = false,
            () = hung_up(stream), if working => return Outcome::HungUp,
        }
    }
}

/// Writes a frame and those already queued after it.
async fn forward<T: Response>(
    stream: &mut UnixStream,
    first: T,
    more: &mut mpsc::Receiver<T>,
) -> io::Result<Outcome> {
    let mut bytes = Vec::new();
    let mut last = first;
    encode(&mut bytes, &last)?;
    while bytes.len() < WRITE_BYTES
        && let Ok(next) = more.try_recv()
    {
        encode(&mut bytes, &next)?;
        last = next;
    }
    send(stream, &bytes).await?;
    Ok(Outcome::of(&last))
}

async fn write(stream: &mut UnixStream, response: &impl Response) -> io::Result<()> {
    let mut bytes = Vec::new();
    encode(&mut bytes, response)?;
    send(stream, &bytes).await
}

fn encode(bytes: &mut Vec<u8>, response: &impl Response) -> io::Result<()> {
    write_frame(bytes, response).map_err(io::Error::other)
}

async fn send(stream: &mut UnixStream, bytes: &[u8]) -> io::Result<()> {
    match timeout(WRITE_TIMEOUT, stream.write_all(bytes)).await {
        Ok(result) => result,
        Err(_) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Returns when the peer has closed the connection completely. One that has only shut down its sending
/// half still waits for the response.
async fn hung_up(stream: &UnixStream) {
    // Nothing arrives on an idle connection but its end.
    if stream.ready(Interest::READABLE).await.is_err() {
        return;
    }
    let both = Interest::READABLE.add(Interest::WRITABLE);
    while let Ok(ready) = stream.ready(both).await {
        if ready.is_write_closed() {
            return;
        }
        // Half closed, or there is unread input: the state of the other half can only be polled.
        tokio::time::sleep(HANG_UP_POLL_INTERVAL).await;
    }
}

/// How soon the end of a half-closed connection is noticed.
///
/// Limit: the end of a half-closed connection is noticed this late.
const HANG_UP_POLL_INTERVAL: Duration = Duration::from_millis(25);
