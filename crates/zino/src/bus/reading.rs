//! Reads the frames of one direction of a call as they arrive.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::mpsc;

use super::error::{BusFailure, Refusal};
use super::incoming::Incoming;
use super::link::{Arrival, ArrivalEvent, End, Registered, WINDOW};
use super::message::{Key, Kind};

/// The end of a call that reads.
pub(super) struct Reading {
    pub(super) call: Arc<Registered>,
    incoming: Incoming,
    arrivals: mpsc::Receiver<Arrival>,
}

impl Reading {
    pub(super) fn new(call: Arc<Registered>, arrivals: mpsc::Receiver<Arrival>) -> Self {
        let incoming = Incoming::new(call.shared.max_frame_bytes);
        Self {
            call,
            incoming,
            arrivals,
        }
    }

    /// Gives the queue back, for another attempt.
    pub(super) fn into_arrivals(self) -> mpsc::Receiver<Arrival> {
        self.arrivals
    }

    /// Whether everything has arrived, read or not.
    pub(super) fn has_arrived(&self) -> bool {
        self.incoming.has_arrived()
    }

    /// The next frame; `None` after the last one. Nothing is lost if the future is dropped.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, BusFailure> {
        loop {
            if let Some(frame) = self.incoming.pop() {
                self.give_credit();
                return Ok(Some(frame));
            }
            if self.incoming.has_ended() {
                return Ok(None);
            }
            let arrival = match self.arrivals.try_recv() {
                Ok(arrival) => arrival,
                Err(_) => {
                    // Only after everything that has arrived before.
                    if let Some(failure) = self.call.link.failure() {
                        return Err(failure.clone());
                    }
                    match self.arrivals.recv().await {
                        Some(arrival) => arrival,
                        None => return Err(BusFailure::Disconnected),
                    }
                }
            };
            self.take(arrival)?;
        }
    }

    /// Takes a message that has arrived.
    pub(super) fn take(&mut self, arrival: Arrival) -> Result<(), BusFailure> {
        if arrival.attempt != self.call.link.key.attempt {
            self.cancel_other(&arrival);
            return Ok(());
        }
        let ArrivalEvent::Message { kind, payload, .. } = arrival.event else {
            return Ok(());
        };
        if let Kind::Refuse { reason } = &kind {
            return Err(BusFailure::Refused(Refusal::named(reason)));
        }
        self.incoming.take(kind, payload)?;
        if self.incoming.has_arrived() && self.call.link.end == End::Caller {
            // The instance has nothing left to cancel.
            self.call.link.finish();
        }
        self.give_credit();
        Ok(())
    }

    /// Tells an instance that has accepted another attempt of the same call that it is not needed.
    fn cancel_other(&self, arrival: &Arrival) {
        if let ArrivalEvent::Message {
            control: Some(control),
            kind,
            ..
        } = &arrival.event
            && !matches!(kind, Kind::Refuse { .. })
        {
            let key = Key {
                attempt: arrival.attempt,
                ..self.call.link.key
            };
            let subject = format!("{control}.{key}");
            self.call
                .shared
                .post(subject, Some(Kind::Cancel.write()), Bytes::new());
        }
    }

    fn give_credit(&mut self) {
        if let Some(limit) = self.incoming.due_credit(&self.call.link)
            && let Some(other) = self.call.link.other()
        {
            let credit = Kind::Credit { limit };
            // One that finds no room is repeated with the next sign of life.
            self.call
                .shared
                .post(other.to_owned(), Some(credit.write()), Bytes::new());
        }
    }

    /// Allows the other end to begin.
    pub(super) async fn allow_start(&self) -> Result<(), BusFailure> {
        let link = &self.call.link;
        let Some(other) = link.other() else {
            return Err(BusFailure::Cancelled);
        };
        let credit = Kind::Credit { limit: WINDOW };
        let subject = other.to_owned();
        let shared = &self.call.shared;
        shared
            .publish(subject, None, credit.write(), Bytes::new())
            .await?;
        // Not before: signs of life repeat it, and one that was not sent is not given to another instance
        // as well.
        link.grant(WINDOW);
        Ok(())
    }
}
