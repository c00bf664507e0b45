//! A call to a service on the bus: which instance gets it, and when another one does.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::connection::{Bus, Shared};
use super::error::{BusCallError, BusFailure, Refusal};
use super::link::{ARRIVAL_QUEUE_LENGTH, Arrival, ArrivalEvent, End, Link, Registered, WINDOW};
use super::message::{Body, Key, Kind, RequestHead};
use super::outgoing::{Outgoing, Progress};
use super::reading::Reading;
use crate::metrics;
use crate::peer::{CallError, LinkError, Unreachable};
use crate::unique_name::random_fraction;
use zot_wire::zino::Request;
use zot_wire::zino::repeat::Repeat as Rule;

/// How long an instance may take to accept a request.
///
/// Limit: another instance is asked.
pub(super) const ACCEPT_TIMEOUT: Duration = Duration::from_millis(500);

/// How many instances are asked before a call fails.
///
/// Limit: the call fails.
const MAX_TRIES: u32 = 4;

/// Whether an instance may get a request that another one may have handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeat {
    Allowed,
    /// One that was not chosen must not begin, even if it does so late.
    OneAtATime,
    /// An instance begins only when it is told to, and only one is.
    Never,
}

impl Repeat {
    pub(crate) fn of<R: Request>(request: &R) -> Self {
        match Rule::of(R::SERVICE, request.type_name()) {
            Rule::OneAtATime => Self::OneAtATime,
            // A model call that nobody reads costs money.
            Rule::BeforeFirstFrame => Self::OneAtATime,
            _ if request.is_repeatable() => Self::Allowed,
            _ => Self::Never,
        }
    }
}

/// The attempts of one call.
struct Attempts {
    shared: Arc<Shared>,
    service: String,
    request: Bytes,
    repeat: Repeat,
    next_key: Key,
    tries: u32,
    /// The instances that need not be asked again.
    tried: Vec<String>,
    /// The attempts that may still be accepted.
    open: Vec<Registered>,
    /// Why the last attempt failed.
    failure: Option<BusFailure>,
    sender: mpsc::Sender<Arrival>,
    /// `None` while a response is being read.
    arrivals: Option<mpsc::Receiver<Arrival>>,
}

/// Where one attempt is sent.
struct Target {
    subject: String,
    /// `None` for whichever instance the bus chooses.
    instance: Option<String>,
}

/// How an attempt failed.
enum Verdict {
    /// Another instance may do better.
    TryNext(BusFailure),
    Final(BusFailure),
}

/// A response that is being received over the bus.
pub(crate) struct BusCall {
    attempts: Attempts,
    reading: Option<Reading>,
    has_delivered: bool,
}

impl BusCall {
    /// Sends a request and waits until an instance has accepted it.
    pub(crate) async fn begin(
        bus: &Bus,
        service: &str,
        request: Bytes,
        repeat: Repeat,
    ) -> Result<Self, CallError> {
        let mut attempts = Attempts::new(&bus.shared, service, request, repeat);
        let (reading, _) = attempts.begin().await.map_err(unreachable)?;
        Ok(Self {
            attempts,
            reading: Some(reading),
            has_delivered: false,
        })
    }

    /// The next frame; `None` at the end of the response.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, CallError> {
        loop {
            let Some(reading) = &mut self.reading else {
                return Err(CallError::EndedEarly);
            };
            let failure = match reading.next().await {
                Ok(frame) => {
                    self.has_delivered |= frame.is_some();
                    return Ok(frame);
                }
                Err(failure) => failure,
            };
            let Some(reading) = self.reading.take() else {
                return Err(CallError::EndedEarly);
            };
            let error = self.attempts.lost(reading, failure);
            if self.has_delivered {
                return Err(CallError::Lost(LinkError::Bus(error)));
            }
            match self.attempts.repeat {
                Repeat::Never => return Err(CallError::OutcomeUnknown(LinkError::Bus(error))),
                _ if error.failure == BusFailure::Disconnected => return Err(unreachable(error)),
                // Another instance would say the same.
                _ if matches!(error.failure, BusFailure::Unreadable(_)) => {
                    return Err(CallError::Lost(LinkError::Bus(error)));
                }
                Repeat::Allowed | Repeat::OneAtATime => {
                    self.attempts.failure = Some(error.failure);
                    let (reading, _) = self.attempts.begin().await.map_err(unreachable)?;
                    self.reading = Some(reading);
                }
            }
        }
    }
}

/// Opens a call in both directions, which is never repeated once an instance was told to begin.
pub(super) async fn open(
    shared: &Arc<Shared>,
    service: &str,
    request: Bytes,
) -> Result<(Reading, Outgoing), CallError> {
    let mut attempts = Attempts::new(shared, service, request, Repeat::Never);
    attempts.begin().await.map_err(unreachable)
}

fn unreachable(error: BusCallError) -> CallError {
    CallError::Unreachable(Unreachable::Bus(error))
}

impl Attempts {
    fn new(shared: &Arc<Shared>, service: &str, request: Bytes, repeat: Repeat) -> Self {
        let (sender, arrivals) = mpsc::channel(ARRIVAL_QUEUE_LENGTH);
        Self {
            shared: Arc::clone(shared),
            service: service.to_owned(),
            request,
            repeat,
            next_key: Key::new(),
            tries: 0,
            tried: Vec::new(),
            open: Vec::new(),
            failure: None,
            sender,
            arrivals: Some(arrivals),
        }
    }

    /// Asks one instance after the other until one accepts.
    async fn begin(&mut self) -> Result<(Reading, Outgoing), BusCallError> {
        let began = Instant::now();
        let Some(mut arrivals) = self.arrivals.take() else {
            return Err(self.error(BusFailure::Disconnected, None));
        };
        let not_accepted = BusFailure::NotAccepted(ACCEPT_TIMEOUT);
        let mut failure = self.failure.take().unwrap_or(not_accepted);
        while self.tries < MAX_TRIES
            && let Some(target) = self.next_target()
        {
            if self.tries > 0 {
                metrics::BUS_RETRIES.add_one();
            }
            self.tries += 1;
            match self.attempt(&target, &mut arrivals).await {
                Ok((call, first)) => {
                    metrics::BUS_ACCEPT_SECONDS.record(began.elapsed());
                    match self.start(call, arrivals, first).await {
                        Ok(started) => return Ok(started),
                        Err((lost, reading)) => {
                            failure = lost;
                            arrivals = reading.into_arrivals();
                        }
                    }
                }
                Err(Verdict::TryNext(next)) => failure = next,
                Err(Verdict::Final(last)) => return Err(self.error(last, target.instance)),
            }
        }
        if let BusFailure::NotAccepted(time) = &mut failure {
            *time = began.elapsed();
        }
        Err(self.error(failure, None))
    }

    /// Where the next attempt goes: first to whichever instance the bus chooses, then to one that is
    /// known. While the bus may choose dead ones, it is always one that is known.
    fn next_target(&self) -> Option<Target> {
        let subjects = &self.shared.subjects;
        let any = Target {
            subject: subjects.service(&self.service),
            instance: None,
        };
        if self.tries == 0 && !self.shared.doubts.contains(&self.service) {
            return Some(any);
        }
        let known = &self.shared.presence;
        match known.choose(&self.service, &self.tried, random_fraction) {
            Some(instance) => Some(Target {
                subject: subjects.directed(&self.service, &instance),
                instance: Some(instance),
            }),
            // Those that are known were asked; the bus may know another.
            None => Some(any),
        }
    }

    /// Sends the request to one instance and waits until it, or one that was asked before, accepts.
    async fn attempt(
        &mut self,
        target: &Target,
        arrivals: &mut mpsc::Receiver<Arrival>,
    ) -> Result<(Registered, Arrival), Verdict> {
        let key = self.next_key;
        self.next_key = key.next_attempt();
        if let Some(instance) = &target.instance {
            self.tried.push(instance.clone());
        }
        let body = match self.request.len() <= self.shared.longest_message() {
            true => Body::Here,
            false => Body::Later {
                total: self.request.len(),
            },
        };
        let window = match (self.repeat, body) {
            (Repeat::Allowed, Body::Here) => WINDOW,
            _ => 0,
        };
        let link = Link::new(
            key,
            End::Caller,
            target.subject.clone(),
            self.sender.clone(),
        );
        link.grant(window);
        let call = Registered::new(&self.shared, link).ok_or(Verdict::Final(BusFailure::Gap))?;
        self.open.push(call);
        let head = RequestHead { key, window, body };
        let payload = match body {
            Body::Here => self.request.clone(),
            Body::Later { .. } => Bytes::new(),
        };
        let reply = format!("{}.{key}", self.shared.subjects.inbox());
        let subject = target.subject.clone();
        self.shared
            .publish(subject, Some(reply), head.write(), payload)
            .await
            .map_err(Verdict::Final)?;
        let deadline = Instant::now() + ACCEPT_TIMEOUT;
        loop {
            let arrival = match timeout_at(deadline, arrivals.recv()).await {
                Ok(Some(arrival)) => arrival,
                Ok(None) => return Err(Verdict::Final(BusFailure::Disconnected)),
                Err(_) => {
                    match &target.instance {
                        Some(instance) => self.shared.presence.suspect(&self.service, instance),
                        None => self.shared.doubts.add(&self.service),
                    }
                    return Err(Verdict::TryNext(BusFailure::NotAccepted(ACCEPT_TIMEOUT)));
                }
            };
            if let Some(accepted) = self.consider(arrival, key, target)? {
                return Ok(accepted);
            }
        }
    }

    /// What an arrival means for the attempts: one is accepted, or the latest has failed.
    fn consider(
        &mut self,
        arrival: Arrival,
        latest: Key,
        target: &Target,
    ) -> Result<Option<(Registered, Arrival)>, Verdict> {
        let of = |call: &Registered| call.link.key.attempt == arrival.attempt;
        let Some(index) = self.open.iter().position(of) else {
            return Ok(None);
        };
        let is_latest = arrival.attempt == latest.attempt;
        match &arrival.event {
            ArrivalEvent::NoResponders => {
                drop(self.open.swap_remove(index));
                match &target.instance {
                    _ if !is_latest => Ok(None),
                    Some(instance) => {
                        self.shared.presence.suspect(&self.service, instance);
                        Err(Verdict::TryNext(BusFailure::NoInstance))
                    }
                    None => Err(Verdict::Final(BusFailure::NoInstance)),
                }
            }
            ArrivalEvent::Failed => {
                let call = self.open.swap_remove(index);
                let failure = call.link.failure().cloned();
                Err(Verdict::Final(failure.unwrap_or(BusFailure::Disconnected)))
            }
            ArrivalEvent::Message {
                kind: Kind::Refuse { reason },
                control,
                ..
            } => {
                drop(self.open.swap_remove(index));
                let instance = control
                    .as_deref()
                    .and_then(|control| control.rsplit('.').next());
                if let Some(instance) = instance {
                    self.tried.push(instance.to_owned());
                }
                match is_latest {
                    true => {
                        let refusal = Refusal::named(reason);
                        Err(Verdict::TryNext(BusFailure::Refused(refusal)))
                    }
                    false => Ok(None),
                }
            }
            ArrivalEvent::Message { control: None, .. } => Ok(None),
            ArrivalEvent::Message {
                control: Some(control),
                ..
            } => {
                let call = self.open.swap_remove(index);
                call.link.set_other(format!("{control}.{}", call.link.key));
                // What others accept from now on is cancelled when it arrives.
                self.open.clear();
                Ok(Some((call, arrival)))
            }
        }
    }

    /// Sends the rest of the request and allows the instance to begin, where it waits for that.
    async fn start(
        &self,
        call: Registered,
        arrivals: mpsc::Receiver<Arrival>,
        first: Arrival,
    ) -> Result<(Reading, Outgoing), (BusFailure, Reading)> {
        let waits = call.link.granted() == 0;
        call.link.raise_limit(WINDOW);
        let call = Arc::new(call);
        let mut reading = Reading::new(Arc::clone(&call), arrivals);
        let mut outgoing = Outgoing::new(None);
        if let Err(failure) = reading.take(first) {
            return Err((failure, reading));
        }
        // A response that is complete needs no more: it says why the request was not taken.
        if !waits || reading.has_arrived() {
            return Ok((reading, outgoing));
        }
        if self.request.len() > self.shared.longest_message() {
            let request = [self.request.clone()].into();
            let sent = outgoing.send(&call, request, Progress::Continues).await;
            if let Err(failure) = sent {
                return Err((failure, reading));
            }
        }
        match reading.allow_start().await {
            Ok(()) => Ok((reading, outgoing)),
            Err(failure) => Err((failure, reading)),
        }
    }

    /// Gives up a response that has failed.
    fn lost(&mut self, reading: Reading, failure: BusFailure) -> BusCallError {
        let instance = reading.call.link.other_instance().map(str::to_owned);
        if let (BusFailure::Silent(_), Some(instance)) = (&failure, &instance) {
            self.shared.presence.suspect(&self.service, instance);
        }
        if let Some(instance) = &instance {
            self.tried.push(instance.clone());
        }
        self.arrivals = Some(reading.into_arrivals());
        self.error(failure, instance)
    }

    fn error(&self, failure: BusFailure, instance: Option<String>) -> BusCallError {
        BusCallError {
            service: self.service.clone(),
            instance,
            failure,
        }
    }
}
