//! A service for tests that does what its requests say.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use testkit::nats::Nats;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zino::bus::{Bus, BusListener};
use zino::config::Config;
use zino::kind::ServiceKind;
use zino::logging::{Level, Log};
use zino::peer::Peer;
use zino::serve::ServeOptions;
use zino::service::{Responses, Service};
use zot_conversation::BoxFuture;
use zot_wire::zino::executor::{ExecutionResult, Request, Response};
use zot_wire::zino::{Frame, Request as _};

pub(super) const LOG: Log = Log::new("bus", Level::Error);

pub(super) fn config(nats: &Nats) -> Config {
    let text = format!("[bus]\nurl = \"{}\"\n", nats.url());
    Config::parse(&text).unwrap().config
}

pub(super) async fn connect(nats: &Nats, identity: &str) -> Bus {
    let bus = Bus::connect(&config(nats), identity, LOG).await.unwrap();
    bus.unwrap()
}

pub(super) fn options() -> ServeOptions {
    ServeOptions {
        max_frame_bytes: 100_000_000,
        max_connections: 100,
        ending_time: Duration::from_secs(5),
        log: LOG,
    }
}

/// Counts what it begins and what it leaves.
#[derive(Default)]
struct Counts {
    begun: AtomicUsize,
    left: AtomicUsize,
}

/// Does what the code of a request says: `frames N LENGTH` sends frames, `hang` never ends.
struct Worker(Arc<Counts>);

struct Leaving(Arc<Counts>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.left.fetch_add(1, Ordering::SeqCst);
    }
}

impl Service for Worker {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Executor
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        let counts = Arc::clone(&self.0);
        Box::pin(async move {
            counts.begun.fetch_add(1, Ordering::SeqCst);
            let leaving = Leaving(counts);
            let (Request::Execute(code) | Request::Validate(code)) = request else {
                return;
            };
            let mut words = code.code.split(' ');
            match words.next() {
                Some("frames") => {
                    let count: i64 = words.next().unwrap().parse().unwrap();
                    let length: usize = words.next().unwrap().parse().unwrap();
                    for number in 0..count {
                        let result = ExecutionResult {
                            exit_code: number,
                            stdout: "x".repeat(length),
                            stderr: String::new(),
                        };
                        if responses.send(Response::Result(result)).await.is_err() {
                            return;
                        }
                    }
                }
                Some("length") => {
                    let result = ExecutionResult {
                        exit_code: i64::try_from(code.code.len()).unwrap(),
                        ..ExecutionResult::default()
                    };
                    responses.finish(Response::Result(result)).await;
                }
                Some("slow") => {
                    tokio::time::sleep(Duration::from_millis(300)).await;
                    responses
                        .finish(Response::Result(ExecutionResult::default()))
                        .await;
                }
                _ => std::future::pending().await,
            }
            drop(leaving);
        })
    }
}

/// An instance of the service, with a connection of its own.
pub(super) struct Serving {
    /// When it is dropped, nobody hears of it any more.
    _bus: Bus,
    counts: Arc<Counts>,
    stop: CancellationToken,
    tasks: JoinSet<()>,
}

impl Serving {
    pub(super) async fn begin(nats: &Nats) -> Self {
        Self::with_capacity(nats, 100).await
    }

    pub(super) async fn with_capacity(nats: &Nats, capacity: usize) -> Self {
        Self::on(connect(nats, "exc").await, capacity).await
    }

    pub(super) async fn with_longest_frame(nats: &Nats, length: usize) -> Self {
        let mut config = config(nats);
        config.wire.max_frame_bytes = length;
        let bus = Bus::connect(&config, "exc", LOG).await.unwrap();
        Self::on(bus.unwrap(), 100).await
    }

    async fn on(bus: Bus, capacity: usize) -> Self {
        let counts = Arc::new(Counts::default());
        let service = Arc::new(Worker(Arc::clone(&counts)));
        let stop = CancellationToken::new();
        let listener = BusListener::bind(&bus, "exc", capacity).await.unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(Bus::serve(listener, service, options(), stop.clone()));
        Self {
            _bus: bus,
            counts,
            stop,
            tasks,
        }
    }

    /// Asks it to end, without waiting.
    pub(super) fn stop(&self) {
        self.stop.cancel();
    }

    pub(super) async fn end(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.tasks.join_next().await {
            ended.unwrap();
        }
    }

    pub(super) fn begun(&self) -> usize {
        self.counts.begun.load(Ordering::SeqCst)
    }

    pub(super) fn left(&self) -> usize {
        self.counts.left.load(Ordering::SeqCst)
    }
}

/// A request that is never repeated.
pub(super) fn execute(code: &str) -> Request {
    request("execute", code)
}

/// A request that may be repeated.
pub(super) fn validate(code: &str) -> Request {
    request("validate", code)
}

/// A request to run code, which is never repeated.
pub(super) fn request_for(executor: &str, code: &str) -> Request {
    read(&[("type", "execute"), ("executor", executor), ("code", code)])
}

fn request(kind: &str, code: &str) -> Request {
    read(&[("type", kind), ("code", code)])
}

fn read(fields: &[(&str, &str)]) -> Request {
    let fields: HashMap<_, _> = fields.iter().copied().collect();
    let text = serde_json::to_vec(&fields).unwrap();
    Request::read(Frame::parse(&text).unwrap()).unwrap()
}

pub(super) fn peer(bus: &Bus) -> Peer<Request> {
    Peer::on_bus(bus, "exc")
}

/// Waits until a caller knows this many instances.
pub(super) async fn wait_for_instances(bus: &Bus, count: usize) {
    until(async || bus.instances(Duration::ZERO).await.len() == count).await;
}

pub(super) async fn until(mut is_so: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(crate::stack::TEST_TIMEOUT, waiting)
        .await
        .expect("it is so in time");
}
