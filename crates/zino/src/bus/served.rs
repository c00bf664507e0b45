//! A call that this process serves.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use zot_wire::FrameTooLong;
use zot_wire::zino::{Frame, Request as _, Response, any_service};

use super::error::BusFailure;
use super::link::{Arrival, Link, Registered, WINDOW};
use super::outgoing::{Outgoing, Progress};
use super::reading::Reading;
use crate::request_line::{self, Outcome, RequestLine};
use crate::serve::{ServeOptions, probe_response};
use crate::service::{Responses, Service};

/// How long a response may take before the caller is told that its request has arrived.
const ACCEPT_DELAY: Duration = Duration::from_millis(50);

/// Frames are collected up to this before they are sent.
const COLLECTED_BYTES: usize = 64 * 1024;

/// A call that this process serves.
pub struct ServedCall {
    reading: Reading,
    outgoing: Outgoing,
}

impl ServedCall {
    pub(super) fn new(call: Registered, arrivals: mpsc::Receiver<Arrival>) -> Self {
        let control = call.shared.subjects.control();
        // What the caller may send, should it have anything to send.
        call.link.grant(WINDOW);
        Self {
            reading: Reading::new(Arc::new(call), arrivals),
            outgoing: Outgoing::new(Some(control)),
        }
    }

    pub(super) fn link(&self) -> Arc<Link> {
        Arc::clone(&self.reading.call.link)
    }

    pub(super) fn into_parts(self) -> (Reading, Outgoing) {
        (self.reading, self.outgoing)
    }

    /// Why a request of this length is not handled.
    pub(super) fn too_long(&self, length: usize) -> Option<FrameTooLong> {
        let limit = self.reading.call.shared.max_frame_bytes;
        (length > limit).then_some(FrameTooLong { length, limit })
    }

    /// Answers as on a socket: no other instance would do better.
    pub(super) async fn refuse_long(&mut self, too_long: FrameTooLong) {
        // Nothing was begun, so nobody has to allow it.
        self.reading.call.link.raise_limit(WINDOW);
        let refusal = any_service::Response::error(too_long.to_string());
        self.send_whole(&refusal).await;
    }

    /// Accepts, and receives a request that was too long for one message.
    pub(super) async fn receive_request(&mut self) -> Result<Option<Bytes>, BusFailure> {
        self.outgoing.accept(&self.reading.call).await?;
        self.reading.next().await
    }

    /// Returns when the caller allows us to begin, which it has mostly done already.
    pub(super) async fn wait_for_start(&mut self) -> Result<(), BusFailure> {
        let call = Arc::clone(&self.reading.call);
        while call.link.limit() == 0 {
            if !self.outgoing.is_introduced() {
                self.outgoing.accept(&call).await?;
            }
            if let Some(failure) = call.link.failure() {
                return Err(failure.clone());
            }
            call.link.changed.notified().await;
        }
        Ok(())
    }

    /// Responds to a request of one of the seven services.
    pub(crate) async fn respond<S: Service>(
        mut self,
        service: &S,
        request: Bytes,
        options: ServeOptions,
    ) {
        let began = Instant::now();
        let frame = match Frame::parse(&request) {
            Ok(frame) => frame,
            Err(error) => {
                let message = format!("the request is no JSON object: {error}");
                request_line::refused(options.log, service.kind(), began, &message);
                self.send_whole(&any_service::Response::error(message))
                    .await;
                return;
            }
        };
        drop(request);
        let mut line = RequestLine::of_frame(options.log, service.kind(), &frame);
        let immediate = match any_service::Request::of(&frame) {
            Some(probe) => probe_response(probe, service.kind()),
            None => match S::Request::read(frame) {
                Ok(request) => {
                    let mut guard = EndGuard {
                        outcome: Outcome::HungUp,
                        line: &mut line,
                    };
                    guard.outcome = self.stream(service, request, guard.line).await;
                    return;
                }
                Err(error) => any_service::Response::error(error.to_string()),
            },
        };
        self.send_whole(&immediate).await;
        line.end(&Outcome::of(&immediate));
    }

    /// Sends the response of the service.
    async fn stream<S: Service>(
        &mut self,
        service: &S,
        request: S::Request,
        line: &mut RequestLine,
    ) -> Outcome {
        let (responses, mut frames) = Responses::channel();
        let mut work = std::pin::pin!(service.handle(request, responses));
        let mut working = true;
        let mut outcome = Outcome::default();
        let accept_due = Instant::now() + ACCEPT_DELAY;
        loop {
            tokio::select! {
                biased;
                frame = frames.recv() => {
                    let sent = match frame {
                        Some(frame) => {
                            line.answered();
                            self.forward(frame, &mut frames).await
                        }
                        None => {
                            let none = VecDeque::new();
                            self.send(none, Progress::Ends).await.map(|()| (outcome, Progress::Ends))
                        }
                    };
                    match sent {
                        Ok((last, Progress::Ends)) => return last,
                        Ok((last, Progress::Continues)) => outcome = last,
                        Err(_) => return Outcome::HungUp,
                    }
                }
                () = &mut work, if working => working = false,
                () = sleep_until(accept_due), if !self.outgoing.is_introduced() => {
                    if self.outgoing.accept(&self.reading.call).await.is_err() {
                        return Outcome::HungUp;
                    }
                }
            }
        }
    }

    /// Sends a frame, those already queued after it, and the end if the response is complete.
    async fn forward<T: Response>(
        &mut self,
        first: T,
        more: &mut mpsc::Receiver<T>,
    ) -> Result<(Outcome, Progress), BusFailure> {
        let mut collected = VecDeque::new();
        let mut bytes = 0;
        let mut last = first;
        let progress = loop {
            let frame = encode(&last)?;
            bytes += frame.len();
            collected.push_back(frame);
            if bytes >= COLLECTED_BYTES {
                break Progress::Continues;
            }
            match more.try_recv() {
                Ok(next) => last = next,
                Err(mpsc::error::TryRecvError::Empty) => break Progress::Continues,
                Err(mpsc::error::TryRecvError::Disconnected) => break Progress::Ends,
            }
        };
        self.send(collected, progress).await?;
        Ok((Outcome::of(&last), progress))
    }

    async fn send_whole(&mut self, response: &impl Response) {
        if let Ok(frame) = encode(response) {
            // A caller that is gone needs no answer.
            let _ = self.send([frame].into(), Progress::Ends).await;
        }
    }

    async fn send(
        &mut self,
        frames: VecDeque<Bytes>,
        progress: Progress,
    ) -> Result<(), BusFailure> {
        let call = &self.reading.call;
        self.outgoing.send(call, frames, progress).await?;
        if progress == Progress::Ends {
            call.link.finish();
        }
        Ok(())
    }
}

/// Writes the line of a request also when it is abandoned.
struct EndGuard<'a> {
    outcome: Outcome,
    line: &'a mut RequestLine,
}

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        self.line.end(&self.outcome);
    }
}

fn encode(response: &impl Response) -> Result<Bytes, BusFailure> {
    let frame = serde_json::to_vec(response);
    frame
        .map(Bytes::from)
        .map_err(|error| BusFailure::Unreadable(error.to_string()))
}
