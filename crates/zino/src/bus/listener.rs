//! Serves a service on the bus: subscribes, admits requests, and ends in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::{Message, Subscriber};
use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;

use super::connection::{Bus, Shared, next};
use super::error::{BusError, Refusal};
use super::link::{ARRIVAL_QUEUE_LENGTH, End, Link, Registered};
use super::message::{Body, Envelope, Kind, RequestHead};
use super::presence::{Announced, InFlight};
use super::served::ServedCall;
use super::subjects::{MAX_TOKEN_LENGTH, is_service_name};
use crate::serve::ServeOptions;

/// What handles the calls of a service.
#[derive(Clone)]
pub(super) struct Handler {
    pub(super) handle: Arc<dyn Fn(Bytes, ServedCall) -> BoxFuture<'static, ()> + Send + Sync>,
    pub(super) abandon: Abandon,
}

/// What becomes of the work when its caller is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Abandon {
    /// Its future is dropped.
    AtOnce,
    /// It notices by itself, and may need time to end.
    ByItself,
}

/// How long requests to any instance are still taken: until callers know that this one ends, and choose
/// another.
const LATE_TIME: Duration = Duration::from_millis(200);

/// How long the bus may take to send what it has.
const REST_TIME: Duration = Duration::from_secs(1);

/// A service that callers on the bus can reach.
pub struct BusListener {
    shared: Arc<Shared>,
    /// Keeps the connection's tasks alive.
    _bus: Bus,
    announced: Arc<Announced>,
    /// Requests to any instance.
    any: Subscriber,
    /// Requests to this one.
    directed: Subscriber,
}

/// How a request came here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Chosen,
    Directed,
}

/// Which requests an instance that ends still takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Taking {
    All,
    /// What the bus has sent before it knew.
    Rest,
    /// Those to this instance, to refuse them.
    Directed,
}

impl BusListener {
    /// Subscribes to the requests of a service. It is announced, and served, with `Bus::serve`.
    pub async fn bind(bus: &Bus, service: &str, capacity: usize) -> Result<Self, BusError> {
        if !is_service_name(service) {
            return Err(BusError::BadName {
                subject: "the service",
                name: service.to_owned(),
                most: MAX_TOKEN_LENGTH,
            });
        }
        let shared = Arc::clone(&bus.shared);
        let subjects = &shared.subjects;
        let subject = subjects.service(service);
        let group = service.to_owned();
        let any = shared.client.queue_subscribe(subject.clone(), group).await;
        let any = any.map_err(|error| BusError::Unreachable {
            servers: subject.clone(),
            reason: error.to_string(),
        })?;
        let own = subjects.directed(service, &shared.instance);
        let directed = shared.subscribe(own.clone()).await?;
        shared.confirm(&[subject, own]).await?;
        Ok(Self {
            announced: Arc::new(Announced {
                service: service.to_owned(),
                capacity,
                announced_capacity: AtomicUsize::new(capacity),
                in_flight: AtomicUsize::new(0),
                draining: AtomicBool::new(false),
            }),
            shared,
            _bus: bus.clone(),
            any,
            directed,
        })
    }

    /// Announces that fewer requests are handled at a time than are taken; the others wait.
    pub fn announcing(self, capacity: usize) -> Self {
        let announced = &self.announced.announced_capacity;
        announced.store(capacity, Ordering::Relaxed);
        self
    }

    /// Handles requests until `stop` fires; then new ones are refused, and running ones may finish.
    pub(super) async fn serve(
        mut self,
        handler: Handler,
        options: ServeOptions,
        stop: CancellationToken,
    ) {
        self.shared.introduce(&self.announced);
        let mut running = JoinSet::new();
        loop {
            let (way, message) = tokio::select! {
                message = next(&mut self.any) => (Way::Chosen, message),
                message = next(&mut self.directed) => (Way::Directed, message),
                () = stop.cancelled() => break,
                Some(_) = running.join_next() => continue,
            };
            match message {
                Some(message) => self.admit(way, message, &handler, &mut running),
                // The connection has ended with the process.
                None => return,
            }
        }
        self.drain(&handler, options, &mut running).await;
    }

    /// Takes what the bus sends here until callers know that this instance ends, refuses everything else,
    /// and lets running requests finish.
    async fn drain(&mut self, handler: &Handler, options: ServeOptions, running: &mut JoinSet<()>) {
        self.announced.draining.store(true, Ordering::Relaxed);
        self.shared.announce(&self.announced);
        let began = Instant::now();
        let (late, deadline) = (began + LATE_TIME, began + options.ending_time);
        // While the bus is away, it does not say when it has sent everything.
        let rest = late + REST_TIME;
        let mut taking = Taking::All;
        while taking != Taking::Directed || !running.is_empty() {
            tokio::select! {
                message = next(&mut self.any), if taking != Taking::Directed => match message {
                    Some(message) => self.admit(Way::Chosen, message, handler, running),
                    None => taking = Taking::Directed,
                },
                message = next(&mut self.directed) => match message {
                    Some(message) => self.admit(Way::Directed, message, handler, running),
                    None => return,
                },
                Some(_) = running.join_next() => {}
                () = sleep_until(late), if taking == Taking::All => {
                    taking = Taking::Rest;
                    let _ = self.any.drain().await;
                }
                () = sleep_until(rest), if taking == Taking::Rest => taking = Taking::Directed,
                () = sleep_until(deadline) => {
                    if !running.is_empty() {
                        options
                            .log
                            .warning(format_args!("abandoned running requests at shutdown"));
                    }
                    break;
                }
            }
        }
        running.shutdown().await;
        self.shared.withdraw(&self.announced);
        self.shared.flush().await;
    }

    /// Whether an earlier attempt of the call is running here. Its caller has lost patience, so it is told
    /// that the attempt has arrived.
    fn is_running(&self, head: &RequestHead) -> bool {
        let links = &self.shared.links;
        let mut attempts = head.key.attempts_so_far();
        let Some(link) = attempts.find_map(|key| links.get(End::Server, key)) else {
            return false;
        };
        if let Some(other) = link.other() {
            let envelope = Envelope {
                kind: Kind::Accept,
                control: Some(self.shared.subjects.control()),
            };
            let headers = Some(envelope.write());
            self.shared.post(other.to_owned(), headers, Bytes::new());
            link.note_spoken();
        }
        true
    }

    fn admit(&self, way: Way, message: Message, handler: &Handler, running: &mut JoinSet<()>) {
        let head = message.headers.as_ref().and_then(RequestHead::read);
        let (Some(head), Some(reply)) = (head, message.reply) else {
            return;
        };
        if self.is_running(&head) {
            return;
        }
        let in_flight = self.announced.begin();
        let refusal = match &in_flight {
            _ if way == Way::Directed && self.announced.is_draining() => Some(Refusal::Draining),
            None => Some(Refusal::Full),
            Some(_) => None,
        };
        if let Some(refusal) = refusal {
            let reason = refusal.name().to_owned();
            let envelope = Envelope {
                kind: Kind::Refuse { reason },
                control: Some(self.shared.subjects.control()),
            };
            let headers = Some(envelope.write());
            self.shared.post(reply.to_string(), headers, Bytes::new());
            return;
        }
        let (sender, arrivals) = mpsc::channel(ARRIVAL_QUEUE_LENGTH);
        let link = Link::new(head.key, End::Server, String::new(), sender);
        link.set_other(reply.to_string());
        link.raise_limit(head.window);
        // The bus may have delivered it twice at the same moment.
        let Some(call) = Registered::new(&self.shared, link) else {
            return;
        };
        let served = ServedCall::new(call, arrivals);
        running.spawn(handle(
            head,
            message.payload,
            served,
            handler.clone(),
            in_flight,
        ));
    }
}

async fn handle(
    head: RequestHead,
    payload: Bytes,
    mut served: ServedCall,
    handler: Handler,
    _in_flight: Option<InFlight>,
) {
    let link = served.link();
    let beginning = async {
        let length = match head.body {
            Body::Here => payload.len(),
            Body::Later { total } => total,
        };
        if let Some(too_long) = served.too_long(length) {
            served.refuse_long(too_long).await;
            return None;
        }
        let request = match head.body {
            Body::Here => payload,
            Body::Later { .. } => served.receive_request().await.ok()??,
        };
        served.wait_for_start().await.ok()?;
        Some((request, served))
    };
    let begun = tokio::select! {
        begun = beginning => begun,
        () = link.failed() => None,
    };
    let Some((request, served)) = begun else {
        return;
    };
    let work = (handler.handle)(request, served);
    match handler.abandon {
        Abandon::ByItself => work.await,
        Abandon::AtOnce => tokio::select! {
            () = work => {}
            () = link.failed() => {}
        },
    }
}
