//! A call that carries frames in both directions.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;

use super::error::{BusCallError, BusFailure};
use super::link::{End, Registered};
use super::outgoing::{Outgoing, Progress};
use super::reading::Reading;
use super::served::ServedCall;
use crate::peer::{CallError, LinkError};

/// One end of a call that carries frames in both directions. Dropping it cancels the call, unless it has
/// ended.
pub struct Duplex {
    sender: DuplexSender,
    receiver: DuplexReceiver,
}

/// Sends the frames of one end. Dropping it without [`Self::finish`] cancels the call.
pub struct DuplexSender {
    call: Arc<Registered>,
    service: String,
    outgoing: Box<Outgoing>,
}

/// Receives the frames of the other end.
pub struct DuplexReceiver {
    service: String,
    reading: Box<Reading>,
}

impl Duplex {
    pub(super) fn new(service: &str, reading: Reading, outgoing: Outgoing) -> Self {
        Self {
            sender: DuplexSender {
                call: Arc::clone(&reading.call),
                service: service.to_owned(),
                outgoing: Box::new(outgoing),
            },
            receiver: DuplexReceiver {
                service: service.to_owned(),
                reading: Box::new(reading),
            },
        }
    }

    pub(super) fn served(service: &str, call: ServedCall) -> Self {
        let (reading, outgoing) = call.into_parts();
        Self::new(service, reading, outgoing)
    }

    /// The instance at the other end.
    pub fn instance(&self) -> &str {
        self.receiver.instance()
    }

    /// See [`DuplexSender::send`].
    pub async fn send(&mut self, frame: Bytes) -> Result<(), CallError> {
        self.sender.send(frame).await
    }

    /// See [`DuplexSender::finish`].
    pub async fn finish(&mut self) -> Result<(), CallError> {
        self.sender.finish().await
    }

    /// See [`DuplexReceiver::next`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        self.receiver.next().await
    }

    /// Separates the directions, for two tasks.
    pub fn split(self) -> (DuplexSender, DuplexReceiver) {
        (self.sender, self.receiver)
    }
}

impl DuplexSender {
    /// Sends a frame, waiting while the other end is behind.
    pub async fn send(&mut self, frame: Bytes) -> Result<(), CallError> {
        self.send_all(vec![frame]).await
    }

    /// Sends frames, in as few messages as they fit in. If the future is dropped some may not be sent.
    pub async fn send_all(&mut self, frames: Vec<Bytes>) -> Result<(), CallError> {
        self.forward(frames.into(), Progress::Continues).await
    }

    /// Ends this direction; the other end sees it after the last frame. A service thereby ends the call.
    pub async fn finish(&mut self) -> Result<(), CallError> {
        if self.outgoing.has_ended() {
            return Ok(());
        }
        self.forward(VecDeque::new(), Progress::Ends).await
    }

    async fn forward(
        &mut self,
        frames: VecDeque<Bytes>,
        progress: Progress,
    ) -> Result<(), CallError> {
        let sent = self.outgoing.send(&self.call, frames, progress).await;
        sent.map_err(|failure| lost(&self.service, &self.call, failure))?;
        if progress == Progress::Ends && self.call.link.end == End::Server {
            self.call.link.finish();
        }
        Ok(())
    }
}

impl Drop for DuplexSender {
    fn drop(&mut self) {
        if !self.outgoing.has_ended() {
            self.call.cancel();
            self.call.link.fail(BusFailure::Cancelled);
        }
    }
}

impl DuplexReceiver {
    /// The instance at the other end.
    pub fn instance(&self) -> &str {
        self.reading.call.link.other_instance().unwrap_or_default()
    }

    /// The next frame; `None` when the other end has finished. Nothing is lost if the future is dropped.
    pub async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        let next = self.reading.next().await;
        next.map_err(|failure| lost(&self.service, &self.reading.call, failure))
    }

    /// Waits until the call has failed, even if the other end has finished.
    pub async fn lost(&self) -> CallError {
        let call = &self.reading.call;
        call.link.failed().await;
        let failure = call.link.failure().cloned();
        lost(
            &self.service,
            call,
            failure.unwrap_or(BusFailure::Cancelled),
        )
    }
}

fn lost(service: &str, call: &Registered, failure: BusFailure) -> CallError {
    CallError::Lost(LinkError::Bus(BusCallError {
        service: service.to_owned(),
        instance: call.link.other_instance().map(str::to_owned),
        failure,
    }))
}
