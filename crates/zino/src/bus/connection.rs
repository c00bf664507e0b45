//! The connection of this process to the bus, and the tasks that belong to it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, HeaderMap, Message, Subscriber};
use bytes::Bytes;
use futures_core::Stream as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;

use super::DuplexService;
use super::call;
use super::connect::{Connected, connect};
use super::duplex::Duplex;
use super::error::{BusError, BusFailure, Forbidden, ForbiddenAction};
use super::instance::Instance;
use super::link::{End, Links};
use super::listener::{Abandon, BusListener, Handler};
use super::presence::{Announced, Doubts, Presence};
use super::subjects::{Subjects, is_token};
use super::watch::Watch;
use crate::config::Config;
use crate::logging::Log;
use crate::peer::CallError;
use crate::serve::ServeOptions;
use crate::service::AnyService;
use crate::unique_name::unique_name;

/// How long a message to ourselves may take.
///
/// Limit: the bus counts as silent, and the process does not start.
const ECHO_TIMEOUT: Duration = Duration::from_secs(3);

/// How many small messages may wait for the connection: events, credits, cancellations.
///
/// Limit: further events are dropped; credits are sent again.
const POSTED_QUEUE_LENGTH: usize = 4096;

/// How many bytes may wait with them.
///
/// Limit: further events are dropped.
const MAX_POSTED_BYTES: usize = 8 * 1024 * 1024;

/// How long a message may wait for the connection.
///
/// Limit: the call that it belongs to fails.
const PUBLISH_TIMEOUT: Duration = Duration::from_secs(3);

/// The longest message, whatever the server allows.
const MAX_MESSAGE_BYTES: usize = 512 * 1024;

/// What is left of a message for its headers.
const HEADER_BYTES: usize = 8 * 1024;

/// The shortest longest message: no server allows less.
const MIN_MESSAGE_BYTES: usize = 512;

/// The last token of the subject on which this process sends itself a message.
pub(super) const ECHO: &str = "echo";

/// A small message that waits for the connection.
struct Posted {
    subject: String,
    headers: Option<HeaderMap>,
    payload: Bytes,
}

/// A connection to the bus.
#[derive(Clone)]
pub struct Bus {
    pub(super) shared: Arc<Shared>,
    /// They end with the last clone.
    _tasks: Arc<JoinSet<()>>,
}

/// What the tasks of the connection share.
pub(super) struct Shared {
    pub(super) client: Client,
    pub(super) subjects: Subjects,
    pub(super) instance: String,
    pub(super) host: String,
    pub(super) log: Log,
    pub(super) presence: Presence,
    pub(super) doubts: Doubts,
    pub(super) links: Links,
    pub(super) max_frame_bytes: usize,
    pub(super) announced: Mutex<Vec<Arc<Announced>>>,
    pub(super) forbidden: watch::Sender<Vec<Forbidden>>,
    /// Counts the messages to ourselves that arrived.
    echoes: watch::Sender<u64>,
    outbox: mpsc::Sender<Posted>,
    /// How many bytes wait there.
    outbox_bytes: AtomicUsize,
    since: Instant,
}

impl Bus {
    /// Connects to the bus of the configuration; `None` if it has none. `identity` is what the
    /// permissions of the server call this process: the name of its service, or `client`.
    pub async fn connect(
        config: &Config,
        identity: &str,
        log: Log,
    ) -> Result<Option<Self>, BusError> {
        let Some(url) = config.bus_url() else {
            return Ok(None);
        };
        let instance: String = unique_name().chars().take(12).collect();
        let identity = config.bus_identity(identity);
        let subjects = Subjects::new(config.bus_namespace(), &identity, &instance)?;
        let name = format!("zino {identity} {instance}");
        let Connected { client, events } = connect(config, url.expose(), &name).await?;
        let (outbox, queued) = mpsc::channel(POSTED_QUEUE_LENGTH);
        let shared = Arc::new(Shared {
            client,
            subjects,
            instance,
            host: host_name(),
            log,
            presence: Presence::default(),
            doubts: Doubts::default(),
            links: Links::default(),
            max_frame_bytes: config.wire.max_frame_bytes,
            announced: Mutex::default(),
            forbidden: watch::Sender::default(),
            echoes: watch::Sender::default(),
            outbox,
            outbox_bytes: AtomicUsize::new(0),
            since: Instant::now(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).handle_events(events));
        tasks.spawn(Arc::clone(&shared).send_queued(queued));
        let ends = [
            (End::Server, shared.subjects.control()),
            (End::Caller, shared.subjects.inbox()),
        ];
        let mut subscribed = Vec::new();
        for (end, prefix) in ends {
            let subject = format!("{prefix}.>");
            let messages = shared.subscribe(subject.clone()).await?;
            subscribed.push(subject);
            tasks.spawn(Arc::clone(&shared).receive(messages, end, prefix));
        }
        shared.confirm(&subscribed).await?;
        // Who may not know the others can still call and be called.
        let presence = shared.subscribe(shared.subjects.all_presence()).await?;
        tasks.spawn(Arc::clone(&shared).receive_presence(presence));
        tasks.spawn(Arc::clone(&shared).announce_regularly());
        tasks.spawn(Arc::clone(&shared).look_after_calls());
        Ok(Some(Self {
            shared,
            _tasks: Arc::new(tasks),
        }))
    }

    /// Checks the keys of `[bus]`, and whether the server lets us in; describes the server, if there is to
    /// be one.
    pub async fn check(config: &Config) -> Result<Option<String>, BusError> {
        let Some(url) = config.bus_url() else {
            return Ok(None);
        };
        let identity = config.bus_identity("client");
        Subjects::new(config.bus_namespace(), &identity, "check")?;
        let Connected { client, .. } = connect(config, url.expose(), "zino check").await?;
        let server = client.server_info();
        Ok(Some(format!(
            "NATS {} at {}:{}, namespace {}, messages up to {} bytes",
            server.version,
            server.host,
            server.port,
            config.bus_namespace(),
            server.max_payload
        )))
    }

    /// The name of this process on the bus.
    pub fn instance(&self) -> &str {
        &self.shared.instance
    }

    /// The name of this machine.
    pub fn host(&self) -> &str {
        &self.shared.host
    }

    /// Opens a call that carries frames in both directions. It is never repeated once an instance was
    /// told to begin.
    pub async fn open(&self, service: &str, request: Bytes) -> Result<Duplex, CallError> {
        let (reading, outgoing) = call::open(&self.shared, service, request).await?;
        Ok(Duplex::new(service, reading, outgoing))
    }

    /// Serves calls in both directions until `stop` fires; running ones may finish.
    pub fn serve_duplex(
        &self,
        service: Arc<dyn DuplexService>,
        options: ServeOptions,
        stop: CancellationToken,
    ) -> BoxFuture<'static, Result<(), BusError>> {
        let bus = self.clone();
        Box::pin(async move {
            let name = service.name();
            let listener = BusListener::bind(&bus, &name, service.capacity()).await?;
            let handler = move |request, call| {
                let duplex = Duplex::served(&name, call);
                service.open(request, duplex)
            };
            let handler = Handler {
                handle: Arc::new(handler),
                abandon: Abandon::ByItself,
            };
            listener.serve(handler, options, stop).await;
            Ok(())
        })
    }

    /// Serves requests until `stop` fires; running ones may finish.
    pub async fn serve(
        listener: BusListener,
        service: Arc<dyn AnyService>,
        options: ServeOptions,
        stop: CancellationToken,
    ) {
        let handler = move |request, call| Arc::clone(&service).serve_call(request, call, options);
        let handler = Handler {
            handle: Arc::new(handler),
            abandon: Abandon::AtOnce,
        };
        listener.serve(handler, options, stop).await;
    }

    /// Tells watchers that something happened, if any are there. Never waits: what does not fit is
    /// dropped.
    pub fn publish_event(&self, kind: &str, token: &str, payload: Bytes) {
        let shared = &self.shared;
        if is_token(kind) && is_token(token) && shared.has_room_for_events() {
            shared.post(shared.subjects.event(kind, token), None, payload);
        }
    }

    /// Waits until everything was handed to the network, as far as it can be: a process that ends next
    /// tells others so.
    pub async fn flush(&self) {
        self.shared.flush().await;
    }

    /// All instances that have announced themselves. Each does so every second: those that were not
    /// heard yet are waited for, until the connection is `wait` old.
    pub async fn instances(&self, wait: Duration) -> Vec<Instance> {
        sleep(wait.saturating_sub(self.shared.since.elapsed())).await;
        self.shared.presence.instances()
    }

    /// Watches announcements and events as they come.
    pub async fn watch(&self) -> Result<Watch, BusError> {
        let shared = &self.shared;
        let (all_presence, all_events) =
            (shared.subjects.all_presence(), shared.subjects.all_events());
        let instances = shared.subscribe(all_presence.clone()).await?;
        let events = shared.subscribe(all_events.clone()).await?;
        shared.confirm(&[all_presence, all_events]).await?;
        Ok(Watch::new(shared.subjects.clone(), instances, events))
    }
}

impl Shared {
    pub(super) async fn subscribe(&self, subject: String) -> Result<Subscriber, BusError> {
        let subscribed = self.client.subscribe(subject).await;
        subscribed.map_err(|error| BusError::Unreachable {
            servers: "this address".to_owned(),
            reason: error.to_string(),
        })
    }

    /// Makes sure that we may be subscribed to these subjects. Waits for a message to ourselves, or for the
    /// server's refusal to carry it: either comes after the refusals of what was asked for before.
    pub(super) async fn confirm(&self, subjects: &[String]) -> Result<(), BusError> {
        let mut echoes = self.echoes.subscribe();
        let echo = async {
            let _ = self.client.publish(self.echo_subject(), Bytes::new()).await;
            let _ = echoes.changed().await;
            // The refusals take a way of their own through other tasks.
            for _ in 0..16 {
                tokio::task::yield_now().await;
            }
        };
        if timeout(ECHO_TIMEOUT, echo).await.is_err() {
            return Err(BusError::Silent(ECHO_TIMEOUT));
        }
        let known = self.forbidden.borrow();
        let refused = known.iter().find(|forbidden| {
            forbidden.action == ForbiddenAction::Subscribe && subjects.contains(&forbidden.subject)
        });
        match refused {
            Some(refused) => Err(BusError::Forbidden(refused.clone())),
            None => Ok(()),
        }
    }

    pub(super) fn echo_subject(&self) -> String {
        format!("{}.{ECHO}", self.subjects.control())
    }

    /// Whether messages reach the server, as far as this process knows.
    pub(super) fn is_connected(&self) -> bool {
        self.client.connection_state() == State::Connected
    }

    /// The longest payload that travels in one message.
    pub(super) fn longest_message(&self) -> usize {
        let most = self.client.max_payload().min(MAX_MESSAGE_BYTES);
        most.saturating_sub(HEADER_BYTES).max(MIN_MESSAGE_BYTES)
    }

    /// Hands a message to the connection. Without a connection it is not kept for later.
    pub(super) async fn publish(
        &self,
        subject: String,
        reply: Option<String>,
        headers: HeaderMap,
        payload: Bytes,
    ) -> Result<(), BusFailure> {
        if !self.is_connected() {
            return Err(BusFailure::NotConnected);
        }
        let published = async {
            match reply {
                Some(reply) => {
                    let client = &self.client;
                    client
                        .publish_with_reply_and_headers(subject, reply, headers, payload)
                        .await
                }
                None => {
                    self.client
                        .publish_with_headers(subject, headers, payload)
                        .await
                }
            }
        };
        match timeout(PUBLISH_TIMEOUT, published).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(BusFailure::Unreadable(error.to_string())),
            Err(_) => Err(BusFailure::NotConnected),
        }
    }

    /// Queues a small message without waiting. Without room for it, it is lost.
    pub(super) fn post(&self, subject: String, headers: Option<HeaderMap>, payload: Bytes) {
        let length = payload.len();
        let waiting = self.outbox_bytes.fetch_add(length, Ordering::Relaxed);
        let posted = Posted {
            subject,
            headers,
            payload,
        };
        let fits = waiting + length <= MAX_POSTED_BYTES && length <= self.longest_message();
        if !fits || self.outbox.try_send(posted).is_err() {
            self.outbox_bytes.fetch_sub(length, Ordering::Relaxed);
        }
    }

    /// Whether enough is left for signs of life and credits, without which calls fail.
    fn has_room_for_events(&self) -> bool {
        self.outbox.capacity() > POSTED_QUEUE_LENGTH / 2
            && self.outbox_bytes.load(Ordering::Relaxed) < MAX_POSTED_BYTES / 2
    }

    async fn send_queued(self: Arc<Self>, mut queued: mpsc::Receiver<Posted>) {
        while let Some(posted) = queued.recv().await {
            let length = posted.payload.len();
            self.outbox_bytes.fetch_sub(length, Ordering::Relaxed);
            if !self.is_connected() {
                continue;
            }
            // A message that cannot be sent is lost, like any on the bus.
            let _ = match posted.headers {
                Some(headers) => {
                    let client = &self.client;
                    client
                        .publish_with_headers(posted.subject, headers, posted.payload)
                        .await
                }
                None => self.client.publish(posted.subject, posted.payload).await,
            };
        }
    }

    /// Waits until everything was handed to the network, as far as it can be.
    pub(super) async fn flush(&self) {
        let flushed = async {
            while self.outbox.capacity() < POSTED_QUEUE_LENGTH {
                tokio::task::yield_now().await;
            }
            self.client.flush().await
        };
        if self.is_connected() {
            let _ = timeout(PUBLISH_TIMEOUT, flushed).await;
        }
    }

    pub(super) fn note_echo(&self) {
        self.echoes.send_modify(|count| *count += 1);
    }
}

/// The next message; `None` when the connection has ended.
pub(super) async fn next(messages: &mut Subscriber) -> Option<Message> {
    poll_fn(|context| Pin::new(&mut *messages).poll_next(context)).await
}

/// The name of this machine, for people; empty if the system does not tell.
fn host_name() -> String {
    let kernel = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = kernel.or_else(|_| std::env::var("HOSTNAME").map_err(std::io::Error::other));
    name.unwrap_or_default().trim().to_owned()
}
