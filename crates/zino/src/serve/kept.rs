//! A kept connection: one request after another, each with its response.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use zot_wire::zino::{ErrorCode, Frame, Request as _, Response, any_service};
use zot_wire::{FrameDecoder, write_frame};

use super::ServeOptions;
use super::caller::{Caller, Purpose};
use super::connection::{LINGER_TIME, READ_BYTES, REQUEST_STALL_TIME, WRITE_BYTES, WRITE_TIMEOUT};
use crate::network::identity::Identity;
use crate::network::options::{
    RESPONSE_ACKNOWLEDGEMENT_TIMEOUT, SURELY_BUFFERED_BYTES, set_acknowledgement_timeout,
};
use crate::network::stream::NetworkStream;
use crate::network::{BEAT, BEAT_INTERVAL, CLOSING, END, FIRST_BEAT_DELAY};
use crate::request_line::{self, Outcome, RequestLine};
use crate::service::{Responses, Service};

/// How long a connection may wait for its next request. Our callers close theirs earlier.
///
/// Limit: an idle connection is closed.
const IDLE_CONNECTION_TIME: Duration = Duration::from_secs(120);

/// A connection whose caller is known.
pub struct KeptConnection {
    stream: NetworkStream,
    caller: Caller,
    /// The identity the connection was made with, and its successors.
    identity: Option<watch::Receiver<Arc<Identity>>>,
    /// Rings when others wait for a connection.
    crowded: Arc<Notify>,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
    /// When the caller should hear from us.
    beat_due: Instant,
    /// How much of the present response was written.
    written: usize,
}

/// Why no request was read.
enum NoRequest {
    /// The caller has hung up.
    Ended,
    /// The connection is not kept any longer.
    Unwanted,
    Invalid(String),
    Broken(io::Error),
}

/// Whether more frames may follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Continues,
    Ended,
}

impl KeptConnection {
    pub(super) fn new(
        stream: NetworkStream,
        caller: Caller,
        identity: Option<watch::Receiver<Arc<Identity>>>,
        crowded: Arc<Notify>,
    ) -> Self {
        Self {
            stream,
            caller,
            identity,
            crowded,
            decoder: FrameDecoder::with_limit(0),
            buffer: vec![0; READ_BYTES],
            beat_due: Instant::now(),
            written: 0,
        }
    }

    /// Handles requests until the caller hangs up, the connection has to make room, or `stop` fires.
    pub(crate) async fn serve<S: Service>(
        mut self,
        service: &S,
        options: ServeOptions,
        stop: CancellationToken,
    ) {
        let log = options.log;
        self.decoder = FrameDecoder::with_limit(options.max_frame_bytes);
        loop {
            let (began, frame) = match self.read_request(&stop).await {
                Ok(request) => request,
                Err(NoRequest::Ended) => return,
                Err(NoRequest::Unwanted) => {
                    // A request may be on its way.
                    let _ = self.send(CLOSING).await;
                    return;
                }
                Err(NoRequest::Invalid(message)) => {
                    request_line::refused(log, service.kind(), Instant::now(), &message);
                    let refusal = any_service::Response::error(message);
                    if self.write_whole(&refusal).await.is_ok() {
                        self.discard_rest().await;
                    }
                    return;
                }
                Err(NoRequest::Broken(error)) => {
                    log.debug(format_args!("connection broken: {error}"));
                    return;
                }
            };
            let mut line = RequestLine::of_frame(log, service.kind(), &frame).since(began);
            let outcome = self.respond(service, frame, options, &mut line).await;
            line.end(&outcome);
            if matches!(outcome, Outcome::HungUp) {
                return;
            }
        }
    }

    /// Reads a request, and returns it with the time it began to arrive.
    async fn read_request(
        &mut self,
        stop: &CancellationToken,
    ) -> Result<(Instant, Frame), NoRequest> {
        if !self.decoder.is_partial() {
            self.wait_for_request(stop).await?;
        }
        let began = Instant::now();
        self.beat_due = began + FIRST_BEAT_DELAY;
        self.restore_acknowledgement_timeout();
        loop {
            match self.decoder.next_frame() {
                Ok(Some(frame)) => {
                    let parsed = Frame::parse(frame).map_err(|error| {
                        NoRequest::Invalid(format!("the request is no JSON object: {error}"))
                    });
                    return parsed.map(|frame| (began, frame));
                }
                Ok(None) => {}
                Err(too_long) => return Err(NoRequest::Invalid(too_long.to_string())),
            }
            self.receive_more().await?;
        }
    }

    /// Waits for the first bytes of a request.
    async fn wait_for_request(&mut self, stop: &CancellationToken) -> Result<(), NoRequest> {
        let identity = &mut self.identity;
        let replaced = async {
            match identity {
                // An error means that the process is ending.
                Some(identity) => drop(identity.changed().await),
                None => std::future::pending().await,
            }
        };
        let read = tokio::select! {
            // What has arrived already is a request that must be handled.
            biased;
            read = timeout(IDLE_CONNECTION_TIME, self.stream.read(&mut self.buffer)) => read,
            () = stop.cancelled() => return Err(NoRequest::Unwanted),
            () = replaced => return Err(NoRequest::Unwanted),
            () = self.crowded.notified() => return Err(NoRequest::Unwanted),
        };
        match read {
            Err(_) => Err(NoRequest::Unwanted),
            Ok(Ok(0)) => Err(NoRequest::Ended),
            Ok(Err(error)) => Err(NoRequest::Broken(error)),
            Ok(Ok(count)) => {
                self.decoder.feed(&self.buffer[..count]);
                Ok(())
            }
        }
    }

    /// Receives more of a request. Beats show the caller that a long one is arriving.
    async fn receive_more(&mut self) -> Result<(), NoRequest> {
        let deadline = Instant::now() + REQUEST_STALL_TIME;
        loop {
            tokio::select! {
                biased;
                read = timeout_at(deadline, self.stream.read(&mut self.buffer)) => {
                    return match read {
                        Err(_) => Err(NoRequest::Invalid(
                            "the request did not arrive in time".to_owned(),
                        )),
                        Ok(Err(error)) => Err(NoRequest::Broken(error)),
                        Ok(Ok(0)) => Err(NoRequest::Ended),
                        Ok(Ok(count)) => {
                            self.decoder.feed(&self.buffer[..count]);
                            Ok(())
                        }
                    };
                }
                () = sleep_until(self.beat_due) => {
                    self.send(BEAT).await.map_err(NoRequest::Broken)?;
                }
            }
        }
    }

    async fn respond<S: Service>(
        &mut self,
        service: &S,
        frame: Frame,
        options: ServeOptions,
        line: &mut RequestLine,
    ) -> Outcome {
        let probe = any_service::Request::of(&frame);
        let refusal = self.caller.refusal(Purpose::of(&frame));
        let immediate = match (refusal, probe) {
            (Some(refusal), _) => {
                options.log.warning(format_args!("refused: {refusal}"));
                any_service::Response::error_with_code(ErrorCode::NotAllowed, refusal)
            }
            (None, Some(probe)) => super::connection::probe_response(probe, service.kind()),
            (None, None) => match S::Request::read(frame) {
                Ok(request) => return self.stream_response(service, request, line).await,
                Err(error) => any_service::Response::error(error.to_string()),
            },
        };
        match self.write_whole(&immediate).await {
            Ok(()) => Outcome::of(&immediate),
            Err(_) => Outcome::HungUp,
        }
    }

    /// Sends the response of the service, and stops when the caller hangs up.
    async fn stream_response<S: Service>(
        &mut self,
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
                frame = frames.recv() => {
                    let forwarded = match frame {
                        Some(frame) => self.forward(frame, &mut frames).await,
                        None => self.send(END).await.map(|()| (outcome, Progress::Ended)),
                    };
                    let Ok((last, progress)) = forwarded else {
                        return Outcome::HungUp;
                    };
                    line.answered();
                    match progress {
                        Progress::Ended => return last,
                        Progress::Continues => outcome = last,
                    }
                }
                () = &mut work, if working => working = false,
                () = hung_up(&mut self.stream), if working => return Outcome::HungUp,
                () = sleep_until(self.beat_due), if working => {
                    if self.send(BEAT).await.is_err() {
                        return Outcome::HungUp;
                    }
                }
            }
        }
    }

    /// Writes a frame, those already queued after it, and the end if the response is complete.
    async fn forward<T: Response>(
        &mut self,
        first: T,
        more: &mut mpsc::Receiver<T>,
    ) -> io::Result<(Outcome, Progress)> {
        let mut bytes = Vec::new();
        let mut last = first;
        let mut progress = Progress::Continues;
        encode(&mut bytes, &last)?;
        while bytes.len() < WRITE_BYTES {
            match more.try_recv() {
                Ok(next) => {
                    encode(&mut bytes, &next)?;
                    last = next;
                }
                Err(mpsc::error::TryRecvError::Empty) => break,
                Err(mpsc::error::TryRecvError::Disconnected) => {
                    bytes.extend_from_slice(END);
                    progress = Progress::Ended;
                    break;
                }
            }
        }
        self.send(&bytes).await?;
        Ok((Outcome::of(&last), progress))
    }

    /// Writes a response of one frame.
    async fn write_whole(&mut self, response: &impl Response) -> io::Result<()> {
        let mut bytes = Vec::new();
        encode(&mut bytes, response)?;
        bytes.extend_from_slice(END);
        self.send(&bytes).await
    }

    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let before = self.written;
        self.written = before.saturating_add(bytes.len());
        if before < SURELY_BUFFERED_BYTES && self.written >= SURELY_BUFFERED_BYTES {
            // A slow reader is given as long as on a Unix socket.
            set_acknowledgement_timeout(self.stream.tcp(), WRITE_TIMEOUT)?;
        }
        let written = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        let sent = match timeout(WRITE_TIMEOUT, written).await {
            Ok(result) => result,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        self.beat_due = Instant::now() + BEAT_INTERVAL;
        sent
    }

    /// The caller has read the last response, since it sends the next request.
    fn restore_acknowledgement_timeout(&mut self) {
        if self.written >= SURELY_BUFFERED_BYTES {
            // If it fails the connection is broken, which reading from it will show.
            let _ =
                set_acknowledgement_timeout(self.stream.tcp(), RESPONSE_ACKNOWLEDGEMENT_TIMEOUT);
        }
        self.written = 0;
    }

    /// Shuts down our half and discards what the caller still sends, so that it can read the response.
    async fn discard_rest(&mut self) {
        let discarded = async {
            self.stream.shutdown().await?;
            while self.stream.read(&mut self.buffer).await? > 0 {}
            io::Result::Ok(())
        };
        let _ = timeout(LINGER_TIME, discarded).await;
    }
}

/// Returns when the caller has hung up, or sends anything at all: it must wait for the response.
async fn hung_up(stream: &mut NetworkStream) {
    let _ = stream.read(&mut [0]).await;
}

fn encode(bytes: &mut Vec<u8>, response: &impl Response) -> io::Result<()> {
    write_frame(bytes, response).map_err(io::Error::other)
}
