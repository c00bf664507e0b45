//! The connection of this process to the bus, and the tasks that belong to it.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::{Client, Event, Message, ServerError, Subscriber};
use bytes::Bytes;
use futures_core::Stream as _;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};
use tokio_util::sync::CancellationToken;
use zot_conversation::BoxFuture;

use super::DuplexService;
use super::connect::{Connected, check, connect};
use super::duplex::Duplex;
use super::error::{BusCallError, BusError, BusFailure, Forbidden, ForbiddenAction};
use super::instance::Instance;
use super::presence::{ANNOUNCE_INTERVAL, Announced, Presence};
use super::subjects::{Subjects, is_token};
use super::watch::Watch;
use crate::config::Config;
use crate::logging::Log;
use crate::peer::{CallError, Unreachable};
use crate::serve::ServeOptions;
use crate::unique_name::unique_name;

/// How long a message to ourselves may take.
///
/// Limit: the bus counts as silent, and the process does not start.
const ECHO_TIMEOUT: Duration = Duration::from_secs(3);

/// How many small messages may wait for the connection: events, credits, cancellations.
///
/// Limit: further events are dropped; credits are sent again.
const OUTBOX_LENGTH: usize = 4096;

/// How many forbidden subjects are remembered, each of which is logged once.
///
/// Limit: further forbidden subjects are not remembered.
const MAX_FORBIDDEN: usize = 256;

/// The last token of the subject on which this process sends itself a message.
const ECHO: &str = "echo";

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
    announced: Mutex<Vec<Arc<Announced>>>,
    forbidden: watch::Sender<Vec<Forbidden>>,
    /// Counts the messages to ourselves that arrived.
    echoes: watch::Sender<u64>,
    outbox: mpsc::Sender<(String, Bytes)>,
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
        let identity = &config.bus_identity(identity);
        let subjects = Subjects::new(config.bus_namespace(), identity, &instance)?;
        let name = format!("zino {identity} {instance}");
        let Connected { client, events } = connect(config, url.expose(), &name).await?;
        let (outbox, queued) = mpsc::channel(OUTBOX_LENGTH);
        let shared = Arc::new(Shared {
            client,
            subjects,
            instance,
            host: host_name(),
            log,
            presence: Presence::default(),
            announced: Mutex::default(),
            forbidden: watch::Sender::default(),
            echoes: watch::Sender::default(),
            outbox,
            since: Instant::now(),
        });
        let mut tasks = JoinSet::new();
        tasks.spawn(Arc::clone(&shared).handle_events(events));
        tasks.spawn(Arc::clone(&shared).send_queued(queued));
        let control = shared
            .subscribe(format!("{}.>", shared.subjects.control()))
            .await?;
        tasks.spawn(Arc::clone(&shared).receive_control(control));
        let presence = shared.subscribe(shared.subjects.all_presence()).await?;
        tasks.spawn(Arc::clone(&shared).receive_presence(presence));
        tasks.spawn(Arc::clone(&shared).announce_regularly());
        shared.confirm().await?;
        Ok(Some(Self {
            shared,
            _tasks: Arc::new(tasks),
        }))
    }

    /// Checks the keys of `[bus]` and the files they name, without connecting.
    pub fn check(config: &Config) -> Result<(), BusError> {
        let Some(url) = config.bus_url() else {
            return Ok(());
        };
        Subjects::new(config.bus_namespace(), "client", "check")?;
        check(config, url.expose())
    }

    /// The name of this process on the bus.
    pub fn instance(&self) -> &str {
        &self.shared.instance
    }

    /// Opens a call that carries frames in both directions. It is never repeated once an instance was
    /// told to begin.
    #[expect(clippy::unused_async, reason = "the calls come next")]
    pub async fn open(&self, service: &str, _request: Bytes) -> Result<Duplex, CallError> {
        Err(CallError::Unreachable(Unreachable::Bus(BusCallError {
            service: service.to_owned(),
            instance: None,
            failure: BusFailure::NoInstance,
        })))
    }

    /// Serves calls until `stop` fires; running ones may finish.
    pub fn serve_duplex(
        &self,
        _service: Arc<dyn DuplexService>,
        _options: ServeOptions,
        stop: CancellationToken,
    ) -> BoxFuture<'static, Result<(), BusError>> {
        Box::pin(async move {
            stop.cancelled().await;
            Ok(())
        })
    }

    /// Tells watchers that something happened, if any are there. Never waits: what does not fit is
    /// dropped.
    pub fn publish_event(&self, kind: &str, token: &str, payload: Bytes) {
        if is_token(kind) && is_token(token) {
            self.shared
                .post(self.shared.subjects.event(kind, token), payload);
        }
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
        let instances = shared.subscribe(shared.subjects.all_presence()).await?;
        let events = shared.subscribe(shared.subjects.all_events()).await?;
        shared.confirm().await?;
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

    /// Waits for a message to ourselves, which comes after the server's objections to everything that
    /// was asked for before.
    pub(super) async fn confirm(&self) -> Result<(), BusError> {
        let mut echoes = self.echoes.subscribe();
        let mut forbidden = self.forbidden.subscribe();
        let known = forbidden.borrow_and_update().len();
        let subject = format!("{}.{ECHO}", self.subjects.control());
        let echo = async {
            let _ = self.client.publish(subject, Bytes::new()).await;
            let _ = echoes.changed().await;
            // The objections take a way of their own through other tasks.
            for _ in 0..16 {
                tokio::task::yield_now().await;
            }
        };
        let answered = tokio::select! {
            answered = timeout(ECHO_TIMEOUT, echo) => answered.is_ok(),
            _ = forbidden.changed() => true,
        };
        if let Some(first) = self.forbidden.borrow().get(known) {
            return Err(BusError::Forbidden(first.clone()));
        }
        match answered {
            true => Ok(()),
            false => Err(BusError::Silent(ECHO_TIMEOUT)),
        }
    }

    /// Queues a small message without waiting, and says whether there was room for it.
    pub(super) fn post(&self, subject: String, payload: Bytes) -> bool {
        self.outbox.try_send((subject, payload)).is_ok()
    }

    async fn send_queued(self: Arc<Self>, mut queued: mpsc::Receiver<(String, Bytes)>) {
        while let Some((subject, payload)) = queued.recv().await {
            // A message that cannot be sent is lost, like any on the bus.
            let _ = self.client.publish(subject, payload).await;
        }
    }

    async fn receive_control(self: Arc<Self>, mut messages: Subscriber) {
        while let Some(message) = next(&mut messages).await {
            if message.subject.ends_with(ECHO) {
                self.echoes.send_modify(|count| *count += 1);
            }
        }
    }

    async fn receive_presence(self: Arc<Self>, mut messages: Subscriber) {
        while let Some(message) = next(&mut messages).await {
            if let Ok(instance) = serde_json::from_slice::<Instance>(&message.payload) {
                self.presence.note(instance);
            }
        }
    }

    fn announced(&self) -> MutexGuard<'_, Vec<Arc<Announced>>> {
        self.announced
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    async fn announce_regularly(self: Arc<Self>) {
        let mut ticks = interval(ANNOUNCE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.presence.forget_absent();
            let announced = self.announced().clone();
            for service in announced {
                self.announce(&service);
            }
        }
    }

    fn announce(&self, announced: &Announced) {
        let lag = (announced.store_lag)();
        let instance = Instance {
            service: announced.service.clone(),
            instance: self.instance.clone(),
            host: self.host.clone(),
            pid: std::process::id(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            in_flight: announced
                .in_flight
                .load(std::sync::atomic::Ordering::Relaxed),
            capacity: announced.capacity,
            draining: announced.is_draining(),
            ended: false,
            store_lag_ms: lag.map(|lag| lag.as_secs_f64() * 1000.0),
        };
        if let Ok(text) = serde_json::to_vec(&instance) {
            self.post(self.subjects.presence(&announced.service), text.into());
        }
    }

    async fn handle_events(self: Arc<Self>, mut events: mpsc::Receiver<Event>) {
        while let Some(event) = events.recv().await {
            match event {
                Event::Connected => self.log.info(format_args!("connected to the bus")),
                Event::Disconnected => {
                    self.log
                        .warning(format_args!("the connection to the bus was lost"));
                    self.presence.forget_all();
                }
                Event::SlowConsumer(_) => self.log.warning(format_args!(
                    "messages of the bus were dropped: this process is too slow"
                )),
                Event::LameDuckMode => {
                    self.log.info(format_args!("the bus is about to end"));
                }
                Event::ServerError(ServerError::Other(text)) => match read_forbidden(&text) {
                    Some(forbidden) => self.note_forbidden(forbidden),
                    None => self.log.warning(format_args!("the bus says: {text}")),
                },
                Event::ServerError(error) => {
                    self.log.error(format_args!("the bus says: {error}"));
                }
                Event::ClientError(error) => {
                    self.log
                        .debug(format_args!("no connection to the bus: {error}"));
                }
                Event::Draining | Event::Closed => {}
            }
        }
    }

    fn note_forbidden(&self, forbidden: Forbidden) {
        self.forbidden.send_if_modified(|known| {
            if known.contains(&forbidden) || known.len() >= MAX_FORBIDDEN {
                return false;
            }
            self.log.error(format_args!("{forbidden}"));
            known.push(forbidden);
            true
        });
    }
}

/// Reads what the server says about a permission: `Permissions Violation for Publish to "a.b"`.
fn read_forbidden(text: &str) -> Option<Forbidden> {
    let lower = text.to_lowercase();
    let rest = lower.strip_prefix("permissions violation for ")?;
    let action = match rest.starts_with("publish") {
        true => ForbiddenAction::Publish,
        false => ForbiddenAction::Subscribe,
    };
    // Of the original, since subjects are case-sensitive.
    let subject = text.split('"').nth(1)?;
    Some(Forbidden {
        action,
        subject: subject.to_owned(),
    })
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
