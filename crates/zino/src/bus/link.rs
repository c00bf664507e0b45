//! One attempt of a call at one end: what was sent, received and allowed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connection::Shared;
use super::error::BusFailure;
use super::message::{Key, Kind};

/// How many units the other end may send before it needs credit. A unit is a frame, or a piece of a large
/// one.
pub(super) const WINDOW: u64 = 64;

/// How many messages of one call may wait to be read. Of several attempts only one is read.
pub(super) const ARRIVAL_QUEUE_LENGTH: usize = 320;

/// A message that has arrived for a call, or what took its place.
#[derive(Debug)]
pub(super) struct Arrival {
    pub(super) attempt: u32,
    pub(super) event: ArrivalEvent,
}

#[derive(Debug)]
pub(super) enum ArrivalEvent {
    Message {
        kind: Kind,
        control: Option<String>,
        payload: Bytes,
    },
    /// Nobody is subscribed to the subject.
    NoResponders,
    Failed,
}

/// Which end of the call this is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum End {
    Caller,
    Server,
}

/// One attempt of a call at one end.
pub(super) struct Link {
    pub(super) key: Key,
    pub(super) end: End,
    /// Where messages to the other end go; the caller learns it with the first message.
    other: OnceLock<String>,
    /// Where a request was published, for errors about permissions.
    pub(super) subject: String,
    arrivals: mpsc::Sender<Arrival>,
    /// How many units we may have sent.
    limit: AtomicU64,
    /// How many units we have sent.
    sent: AtomicU64,
    /// How many units have arrived.
    arrived: AtomicU64,
    /// How many units the other end may have sent.
    granted: AtomicU64,
    /// Rings for the sender when more may be sent, or nothing any longer.
    pub(super) changed: Notify,
    failure: OnceLock<BusFailure>,
    failed: CancellationToken,
    heard: Mutex<Instant>,
    spoke: Mutex<Option<Instant>>,
    /// Whether the call has ended as it should.
    finished: AtomicBool,
}

impl Link {
    pub(super) fn new(
        key: Key,
        end: End,
        subject: String,
        arrivals: mpsc::Sender<Arrival>,
    ) -> Self {
        Self {
            key,
            end,
            other: OnceLock::new(),
            subject,
            arrivals,
            limit: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            arrived: AtomicU64::new(0),
            granted: AtomicU64::new(0),
            changed: Notify::new(),
            failure: OnceLock::new(),
            failed: CancellationToken::new(),
            heard: Mutex::new(Instant::now()),
            spoke: Mutex::new(None),
            finished: AtomicBool::new(false),
        }
    }

    pub(super) fn set_other(&self, subject: String) {
        let _ = self.other.set(subject);
    }

    /// Where messages to the other end go.
    pub(super) fn other(&self) -> Option<&str> {
        self.other.get().map(String::as_str)
    }

    /// The instance at the other end: the token before the call and the attempt.
    pub(super) fn other_instance(&self) -> Option<&str> {
        self.other()?.rsplit('.').nth(2)
    }

    pub(super) fn limit(&self) -> u64 {
        self.limit.load(Ordering::Relaxed)
    }

    pub(super) fn raise_limit(&self, limit: u64) {
        if self.limit.fetch_max(limit, Ordering::Relaxed) < limit {
            self.changed.notify_one();
        }
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Notes that units were handed to the connection.
    pub(super) fn note_sent(&self, units: u64) {
        self.sent.store(units, Ordering::Relaxed);
        self.note_spoken();
    }

    pub(super) fn granted(&self) -> u64 {
        self.granted.load(Ordering::Relaxed)
    }

    pub(super) fn grant(&self, limit: u64) {
        self.granted.fetch_max(limit, Ordering::Relaxed);
    }

    /// Compares what the other end says it has sent with what has arrived.
    pub(super) fn check_arrived(&self, sent: u64) {
        if self.arrived.load(Ordering::Relaxed) < sent {
            self.fail(BusFailure::Gap);
        }
    }

    pub(super) fn note_heard(&self) {
        *lock(&self.heard) = Instant::now();
    }

    /// How long the other end has been silent.
    pub(super) fn silence(&self) -> Duration {
        lock(&self.heard).elapsed()
    }

    pub(super) fn note_spoken(&self) {
        *lock(&self.spoke) = Some(Instant::now());
    }

    /// How long we have been silent; `None` if we have not said anything yet.
    pub(super) fn own_silence(&self) -> Option<Duration> {
        lock(&self.spoke).map(|spoke| spoke.elapsed())
    }

    pub(super) fn failure(&self) -> Option<&BusFailure> {
        self.failure.get()
    }

    /// Ends the call at this end, unless it has ended.
    pub(super) fn fail(&self, failure: BusFailure) {
        if self.failure.set(failure).is_ok() {
            self.changed.notify_one();
            self.failed.cancel();
            // If the queue is full its reader will come by.
            let _ = self.arrivals.try_send(Arrival {
                attempt: self.key.attempt,
                event: ArrivalEvent::Failed,
            });
        }
    }

    /// Returns when the call has failed.
    pub(super) async fn failed(&self) {
        self.failed.cancelled().await;
    }

    pub(super) fn finish(&self) {
        self.finished.store(true, Ordering::Relaxed);
    }

    /// Takes a message of the other end.
    pub(super) fn deliver(&self, kind: Kind, control: Option<String>, payload: Bytes) {
        self.note_heard();
        match &kind {
            Kind::Credit { limit } => return self.raise_limit(*limit),
            Kind::Cancel => return self.fail(BusFailure::Cancelled),
            Kind::Data(data) => {
                let units = data.frames.unwrap_or(1);
                self.arrived.store(data.first + units, Ordering::Relaxed);
            }
            Kind::Part(part) => self.arrived.store(part.first + 1, Ordering::Relaxed),
            Kind::Accept | Kind::End { .. } | Kind::Refuse { .. } => {}
        }
        self.push(ArrivalEvent::Message {
            kind,
            control,
            payload,
        });
    }

    pub(super) fn deliver_no_responders(&self) {
        self.push(ArrivalEvent::NoResponders);
    }

    fn push(&self, event: ArrivalEvent) {
        let arrival = Arrival {
            attempt: self.key.attempt,
            event,
        };
        if self.arrivals.try_send(arrival).is_err() {
            // More than we allowed.
            self.fail(BusFailure::Gap);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The running calls of this process.
#[derive(Default)]
pub(super) struct Links(Mutex<HashMap<(End, Key), Arc<Link>>>);

impl Links {
    pub(super) fn get(&self, end: End, key: Key) -> Option<Arc<Link>> {
        lock(&self.0).get(&(end, key)).cloned()
    }

    pub(super) fn all(&self) -> Vec<Arc<Link>> {
        lock(&self.0).values().cloned().collect()
    }

    /// Adds a call, unless it is already there.
    fn insert(&self, link: &Arc<Link>) -> bool {
        let mut links = lock(&self.0);
        let vacant = !links.contains_key(&(link.end, link.key));
        if vacant {
            links.insert((link.end, link.key), Arc::clone(link));
        }
        vacant
    }

    fn remove(&self, link: &Link) {
        lock(&self.0).remove(&(link.end, link.key));
    }
}

/// A call that messages can arrive for. When it is dropped before its end, the other end is told.
pub(super) struct Registered {
    pub(super) shared: Arc<Shared>,
    pub(super) link: Arc<Link>,
}

impl Registered {
    /// `None` if the call is already running: the network has delivered a request twice.
    pub(super) fn new(shared: &Arc<Shared>, link: Link) -> Option<Self> {
        let link = Arc::new(link);
        shared.links.insert(&link).then(|| Self {
            shared: Arc::clone(shared),
            link,
        })
    }

    /// Ends the call at the other end.
    pub(super) fn cancel(&self) {
        if !self.link.finished.swap(true, Ordering::Relaxed)
            && let Some(other) = self.link.other()
        {
            self.shared
                .post(other.to_owned(), Some(Kind::Cancel.write()), Bytes::new());
        }
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.shared.links.remove(&self.link);
        // One that the other end has cancelled, or that is out of reach, needs no answer; telling a silent
        // one costs little.
        if self.link.failure() != Some(&BusFailure::Cancelled) {
            self.cancel();
        }
    }
}
