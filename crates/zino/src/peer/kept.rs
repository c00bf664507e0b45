//! The caller's end of a kept connection.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout};
use zot_wire::zino::{Frame, any_service};
use zot_wire::{FrameDecoder, write_frame};

use super::READ_BYTES;
use super::error::AddressFailure;
use crate::network::identity::Identity;
use crate::network::options::{
    REQUEST_ACKNOWLEDGEMENT_TIMEOUT, SURELY_BUFFERED_BYTES, set_acknowledgement_timeout,
};
use crate::network::stream::{Available, NetworkStream};
use crate::network::{BEAT_TYPE, CLOSING_TYPE};

/// How long a service may be silent, without even a beat. Any that is not overloaded sends one much
/// earlier.
///
/// Limit: the connection counts as lost.
pub(super) const SILENCE_TIMEOUT: Duration = Duration::from_millis(2500);

/// How long a service may take before it receives more of a request.
///
/// Limit: the connection counts as lost.
const REQUEST_WRITE_TIMEOUT: Duration = Duration::from_millis(2500);

/// How long a service may take for the end of a response after its only frame.
const END_TIMEOUT: Duration = Duration::from_millis(50);

/// A connection that no response is being received on, unless a call holds it.
pub(super) struct Connection {
    stream: NetworkStream,
    decoder: FrameDecoder,
    buffer: Vec<u8>,
    /// What it was made with; `None` without TLS.
    identity: Option<Arc<Identity>>,
    /// When it was last heard from.
    pub(super) last_used: Instant,
    /// How long the system lets a request remain unacknowledged.
    acknowledgement_timeout: Duration,
}

/// Why a request was not sent, or only in part.
pub(super) struct NotSent(pub(super) AddressFailure);

impl Connection {
    pub(super) fn new(
        stream: NetworkStream,
        identity: Option<Arc<Identity>>,
        max_frame_bytes: usize,
    ) -> Self {
        Self {
            stream,
            decoder: FrameDecoder::with_limit(max_frame_bytes),
            buffer: vec![0; READ_BYTES],
            identity,
            last_used: Instant::now(),
            acknowledgement_timeout: REQUEST_ACKNOWLEDGEMENT_TIMEOUT,
        }
    }

    pub(super) fn is_made_with(&self, identity: Option<&Arc<Identity>>) -> bool {
        match (&self.identity, identity) {
            (Some(own), Some(present)) => Arc::ptr_eq(own, present),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether it is open and nothing has arrived on it, as far as this machine knows.
    pub(super) fn is_quiet(&mut self) -> bool {
        let available = self.stream.read_available(&mut self.buffer);
        matches!(available, Available::Nothing)
    }

    /// Whether the service still answers.
    pub(super) async fn check(&mut self) -> Result<(), AddressFailure> {
        let mut ping = Vec::new();
        write_frame(&mut ping, &any_service::Request::Ping)
            .map_err(|error| AddressFailure::Unreadable(error.to_string()))?;
        self.send(&ping).await.map_err(|NotSent(failure)| failure)?;
        // Whatever the response is: one that refuses us will do so again.
        let mut frame = self.first_frame().await?;
        while frame.is_some() {
            frame = self.next_frame().await?;
        }
        Ok(())
    }

    /// Sends a request. If this fails the service has not received all of it.
    pub(super) async fn send(&mut self, request: &[u8]) -> Result<(), NotSent> {
        let acknowledgement_timeout = match request.len() < SURELY_BUFFERED_BYTES {
            true => REQUEST_ACKNOWLEDGEMENT_TIMEOUT,
            false => SILENCE_TIMEOUT,
        };
        if acknowledgement_timeout != self.acknowledgement_timeout {
            self.acknowledgement_timeout = acknowledgement_timeout;
            set_acknowledgement_timeout(self.stream.tcp(), acknowledgement_timeout)
                .map_err(|error| NotSent(AddressFailure::of(error)))?;
        }
        let mut rest = request;
        while !rest.is_empty() {
            match timeout(REQUEST_WRITE_TIMEOUT, self.stream.write(rest)).await {
                Ok(Ok(count)) => rest = &rest[count..],
                Ok(Err(error)) => return Err(NotSent(AddressFailure::of(error))),
                Err(_) => return Err(NotSent(AddressFailure::Silent(REQUEST_WRITE_TIMEOUT))),
            }
        }
        Ok(())
    }

    /// The response of a service that closed the connection before it had read the request, or else
    /// why there is none: what the service reported, or `failure`.
    pub(super) async fn last_words(
        &mut self,
        failure: AddressFailure,
    ) -> Result<Frame, AddressFailure> {
        match timeout(END_TIMEOUT, self.next_frame()).await {
            Ok(Ok(Some(frame))) => Ok(frame),
            Ok(Err(reported @ (AddressFailure::Tls(_) | AddressFailure::Closing))) => Err(reported),
            _ => Err(failure),
        }
    }

    /// Waits for the first frame of the response.
    pub(super) async fn first_frame(&mut self) -> Result<Option<Frame>, AddressFailure> {
        match timeout(REQUEST_WRITE_TIMEOUT, self.stream.flush()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return self.last_words(AddressFailure::of(error)).await.map(Some),
            Err(_) => return Err(AddressFailure::Silent(REQUEST_WRITE_TIMEOUT)),
        }
        self.next_frame().await
    }

    /// The next frame of the response; `None` at its end.
    pub(super) async fn next_frame(&mut self) -> Result<Option<Frame>, AddressFailure> {
        loop {
            match self.buffered_frame()? {
                Buffered::Nothing => {}
                Buffered::Beat => continue,
                Buffered::Frame(frame) => return Ok(Some(frame)),
                Buffered::End => return Ok(None),
            }
            match timeout(SILENCE_TIMEOUT, self.stream.read(&mut self.buffer)).await {
                Err(_) => return Err(AddressFailure::Silent(SILENCE_TIMEOUT)),
                Ok(Err(error)) => return Err(AddressFailure::of(error)),
                Ok(Ok(0)) => return Err(AddressFailure::Closed),
                Ok(Ok(count)) => self.decoder.feed(&self.buffer[..count]),
            }
        }
    }

    fn buffered_frame(&mut self) -> Result<Buffered, AddressFailure> {
        let unreadable = |error: String| AddressFailure::Unreadable(error);
        match self.decoder.next_frame() {
            Ok(None) => Ok(Buffered::Nothing),
            Ok(Some([])) => Ok(Buffered::End),
            Ok(Some(bytes)) => {
                let frame = Frame::parse(bytes).map_err(|error| unreadable(error.to_string()))?;
                match frame.type_name() {
                    Some(BEAT_TYPE) => Ok(Buffered::Beat),
                    Some(CLOSING_TYPE) => Err(AddressFailure::Closing),
                    _ => Ok(Buffered::Frame(frame)),
                }
            }
            Err(too_long) => Err(unreadable(too_long.to_string())),
        }
    }

    /// Waits a moment for the end of a response whose only frame has been read.
    pub(super) async fn finish(&mut self) -> bool {
        matches!(timeout(END_TIMEOUT, self.next_frame()).await, Ok(Ok(None)))
    }

    /// Whether the rest of the response that has arrived by now is only its end.
    pub(super) fn has_ended(&mut self) -> bool {
        loop {
            match self.buffered_frame() {
                Ok(Buffered::End) => return !self.decoder.is_partial(),
                Ok(Buffered::Beat) => continue,
                Ok(Buffered::Nothing) => {}
                Ok(Buffered::Frame(_)) | Err(_) => return false,
            }
            match self.stream.read_available(&mut self.buffer) {
                Available::Bytes(count) => self.decoder.feed(&self.buffer[..count]),
                Available::Nothing | Available::End => return false,
            }
        }
    }
}

/// What has been received and not yet returned.
enum Buffered {
    Nothing,
    Beat,
    Frame(Frame),
    End,
}
