//! Services in one temporary directory, each on its own socket.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zino::agent_loop::AgentLoopService;
use zino::config::Config;
use zino::executor::ExecutorService;
use zino::kind::ServiceKind;
use zino::logging::{Level, Log};
use zino::peer::{Call, Peer};
use zino::router::RouterService;
use zino::serve::{Listener, ServeOptions, Socket, serve};
use zino::service::AnyService;
use zot_wire::MAX_FRAME_BYTES;
use zot_wire::zino::{Frame, Request};

/// Longer than anything here takes.
pub(crate) const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// Short, so that the test of an endless request need not wait long.
const ENDING_TIME: Duration = Duration::from_millis(500);

pub(crate) struct Stack {
    directory: TempDir,
    pub(crate) config: Config,
    stop: CancellationToken,
    servers: JoinSet<()>,
}

impl Stack {
    /// A directory with the tools and skills of the captures; nothing is served yet.
    pub(crate) fn new(base_url: &str, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().display();
        let assets = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/zino/assets");
        let sockets: String = ["rtr", "agr", "exc"]
            .map(|name| format!("{name}.socket = \"{root}/{name}.sock\"\n"))
            .concat();
        let text = format!(
            "{sockets}exc.timeout = 3\nservice.model = \"fake-model\"\n\
             tools.dir = \"{assets}/tools\"\nskills.dir = \"{assets}/skills\"\n\
             api.base_url = \"{base_url}\"\napi.key = \"x\"\n{more}"
        );
        let loaded = Config::parse(&text).unwrap();
        assert_eq!(loaded.warnings, Vec::<String>::new());
        Self {
            directory,
            config: loaded.config,
            stop: CancellationToken::new(),
            servers: JoinSet::new(),
        }
    }

    /// Serves `rtr`.
    pub(crate) fn with_router(mut self) -> Self {
        let log = log(ServiceKind::Router);
        let service = RouterService::new(&self.config, log).unwrap();
        self.serve(Arc::new(service));
        self
    }

    /// Serves `exc`.
    pub(crate) fn with_executor(mut self) -> Self {
        let log = log(ServiceKind::Executor);
        let service = ExecutorService::new(self.config.clone(), log, None).unwrap();
        self.serve(Arc::new(service));
        self
    }

    /// Serves `agr`, which uses the sockets of the other two.
    pub(crate) fn with_agent_loop(mut self) -> Self {
        let service = AgentLoopService::new(
            self.config.clone(),
            log(ServiceKind::AgentLoop),
            self.peer(ServiceKind::Router),
            self.peer(ServiceKind::Executor),
        );
        self.serve(Arc::new(service));
        self
    }

    pub(crate) fn serve(&mut self, service: Arc<dyn AnyService>) {
        let kind = service.kind();
        let socket = Socket::bind(&self.config.socket(kind)).unwrap();
        let options = ServeOptions {
            max_frame_bytes: MAX_FRAME_BYTES,
            max_connections: 64,
            ending_time: ENDING_TIME,
            log: log(kind),
        };
        let stop = self.stop.clone();
        self.servers
            .spawn(serve(Listener::Socket(socket), service, options, stop));
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn peer<R: Request>(&self, kind: ServiceKind) -> Peer<R> {
        Peer::socket(self.config.socket(kind), MAX_FRAME_BYTES)
    }

    pub(crate) async fn begin<R: Request>(
        &self,
        kind: ServiceKind,
        request: Value,
    ) -> Call<R::Response> {
        let frame = Frame::parse(request.to_string().as_bytes()).unwrap();
        let request = R::read(frame).unwrap();
        self.peer(kind).call(request).await.unwrap()
    }

    /// Returns all frames of the response to `request`.
    pub(crate) async fn ask(&self, kind: ServiceKind, request: Value) -> Vec<Value> {
        let body = request.to_string().into_bytes();
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        self.exchange(kind, &[&length, body.as_slice()].concat())
            .await
    }

    /// Sends `bytes` and returns all frames until the service closes the connection.
    pub(crate) async fn exchange(&self, kind: ServiceKind, bytes: &[u8]) -> Vec<Value> {
        let mut stream = UnixStream::connect(self.config.socket(kind)).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut received = Vec::new();
        tokio::time::timeout(TEST_TIMEOUT, stream.read_to_end(&mut received))
            .await
            .unwrap()
            .unwrap();
        let mut frames = Vec::new();
        let mut rest = received.as_slice();
        while let Some((length, more)) = rest.split_first_chunk::<4>() {
            let (body, more) = more.split_at(u32::from_be_bytes(*length) as usize);
            frames.push(serde_json::from_slice(body).unwrap());
            rest = more;
        }
        assert_eq!(rest, b"", "a frame was cut off");
        frames
    }

    pub(crate) async fn end(mut self) {
        self.stop.cancel();
        while let Some(ended) = self.servers.join_next().await {
            ended.unwrap();
        }
    }
}

pub(crate) fn log(kind: ServiceKind) -> Log {
    Log::new(kind.name(), Level::Error)
}

/// Polls until `true`, and fails when that takes too long.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = tokio::time::Instant::now() + TEST_TIMEOUT;
    while !holds() {
        assert!(tokio::time::Instant::now() < deadline, "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
