//! Runs services until a signal ends them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::notify;
use crate::bus::{Bus, BusError, BusListener};
use crate::config::Config;
use crate::descriptors;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::metrics;
use crate::monitor::{Check, Monitor, MonitorError, Monitoring};
use crate::network::certificate::date;
use crate::network::identity::{IdentityError, LiveIdentity};
use crate::serve::{
    BindError, ListenError, Listener, NetworkListener, ServeOptions, Socket, serve,
};
use crate::service::AnyService;
use crate::stack::Stack;

/// The name in the log lines about certificates, which all services of the process share.
const TLS_LOG: &str = "tls";

/// The name in the log lines about the bus, which all services of the process share.
const BUS_LOG: &str = "bus";

/// Why the services could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Build(String),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("[tls]: {0}")]
    Identity(#[from] IdentityError),
    #[error("cannot listen for signals: {0}")]
    Signals(#[from] io::Error),
}

/// Runs services in one process.
pub async fn run(config: &Config, kinds: &[ServiceKind]) -> Result<(), RunError> {
    // Before any socket exists: a program that sees one may send a signal, which would otherwise kill
    // this process.
    let mut signals = Signals::listen()?;
    hide_environment();
    let identity = LiveIdentity::of(config)?;
    if let Some(identity) = &identity {
        warn_of_expiry(identity, Log::new(TLS_LOG, config.log_level()));
    }
    let bus = Bus::connect(
        config,
        own_identity(kinds),
        Log::new(BUS_LOG, config.log_level()),
    )
    .await?;
    let services = Stack::new(config, identity.as_ref(), bus.as_ref())
        .build_all(kinds)
        .map_err(RunError::Build)?;
    let stop = CancellationToken::new();
    // All sockets and addresses first: if one cannot be bound, none may be served.
    let mut listeners = Vec::new();
    for service in &services {
        let identity = identity.as_ref();
        listeners.push(Listeners::bind(config, service, identity, bus.as_ref()).await?);
    }
    let monitor = Monitor::bind(config).await?;
    let mut serving = JoinSet::new();
    for (service, listeners) in services.iter().zip(listeners) {
        listeners.serve(service, config, &stop, &mut serving);
    }
    let checks = services.iter().map(check_of).collect();
    let monitoring = Monitoring::begin(monitor, checks, stop.clone());
    notify::ready();
    wait_for_end(&mut signals, &services, identity.as_ref(), config).await;
    notify::stopping();
    metrics::DRAINING.set(1);
    stop.cancel();
    let finished = async { while serving.join_next().await.is_some() {} };
    tokio::select! {
        () = finished => monitoring.end().await,
        // A user who asks twice does not want to wait.
        () = signals.end() => {}
    }
    Ok(())
}

/// Everywhere one service is served.
struct Listeners {
    socket: Socket,
    network: Option<NetworkListener>,
    /// Under each of its names.
    on_bus: Vec<(BusListener, Arc<dyn AnyService>)>,
}

impl Listeners {
    async fn bind(
        config: &Config,
        service: &Arc<dyn AnyService>,
        identity: Option<&LiveIdentity>,
        bus: Option<&Bus>,
    ) -> Result<Self, RunError> {
        let kind = service.kind();
        let mut on_bus = Vec::new();
        if let Some(bus) = bus {
            let own = (kind.name(), Arc::clone(service));
            let further = Arc::clone(service).also_on_bus();
            for (name, service) in [own].into_iter().chain(further) {
                let most = descriptors::connections();
                let listener = BusListener::bind(bus, name, most).await?;
                on_bus.push((listener.announcing(capacity(config, kind)), service));
            }
        }
        Ok(Self {
            socket: Socket::bind(&config.socket(kind))?,
            network: NetworkListener::bind(config, kind, identity).await?,
            on_bus,
        })
    }

    /// Serves the service until `stop` fires.
    fn serve(
        self,
        service: &Arc<dyn AnyService>,
        config: &Config,
        stop: &CancellationToken,
        serving: &mut JoinSet<()>,
    ) {
        let kind = service.kind();
        let log = Log::new(kind.name(), config.log_level());
        let options = ServeOptions {
            max_frame_bytes: config.wire.max_frame_bytes,
            max_connections: descriptors::connections(),
            ending_time: config.drain_timeout(),
            log,
        };
        metrics::of(kind).set_capacity(capacity(config, kind));
        log.info(format_args!(
            "listening on {}",
            self.socket.path().display()
        ));
        let socket = Listener::Socket(self.socket);
        serving.spawn(serve(socket, Arc::clone(service), options, stop.clone()));
        if let Some(network) = self.network {
            log.info(format_args!("listening on {}", network.address()));
            let network = Listener::Network(network);
            serving.spawn(serve(network, Arc::clone(service), options, stop.clone()));
        }
        if !self.on_bus.is_empty() {
            log.info(format_args!("listening on the bus"));
        }
        for (listener, service) in self.on_bus {
            serving.spawn(Bus::serve(listener, service, options, stop.clone()));
        }
        let preparing = Arc::clone(service);
        let stop = stop.clone();
        serving.spawn_blocking(move || preparing.prepare(log, &stop));
    }
}

/// How many requests a service handles at a time, as others see it; more wait.
fn capacity(config: &Config, kind: ServiceKind) -> usize {
    match kind {
        ServiceKind::Executor => config.exc.concurrency,
        _ => descriptors::connections(),
    }
}

/// The name of this process in the permissions of the bus, unless the configuration has another.
fn own_identity(kinds: &[ServiceKind]) -> &'static str {
    kinds.first().map_or("client", |kind| kind.name())
}

fn check_of(service: &Arc<dyn AnyService>) -> Check {
    let service = Arc::clone(service);
    Box::new(move || Arc::clone(&service).check())
}

/// An expired certificate is refused by others, which they say; here it is only mentioned.
fn warn_of_expiry(identity: &LiveIdentity, log: Log) {
    let not_after = identity.current().certificate.not_after;
    if not_after < Timestamp::now() {
        log.warning(format_args!(
            "our certificate expired on {}: issue a new one with `zino certs issue`, then send SIGHUP",
            date(not_after)
        ));
    }
}

/// Programs that `exc` runs for the same user must not read our environment, which may hold a key.
#[cfg(target_os = "linux")]
fn hide_environment() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // No kernel rejects this; without it the key is as safe as the user's other processes.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// On other systems the processes of one user cannot read each other's environment.
#[cfg(not(target_os = "linux"))]
fn hide_environment() {}

/// The signals that are handled.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for SIGTERM or SIGINT, where there is nothing to reload. Cancel-safe.
    pub(super) async fn end(&mut self) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                _ = self.hang_up.recv() => {}
            }
        }
    }
}

/// Waits for SIGTERM or SIGINT; SIGHUP makes all services reload their files.
async fn wait_for_end(
    signals: &mut Signals,
    services: &[Arc<dyn AnyService>],
    identity: Option<&LiveIdentity>,
    config: &Config,
) {
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => return,
            _ = signals.interrupt.recv() => return,
            _ = signals.hang_up.recv() => {
                for service in services {
                    let log = Log::new(service.kind().name(), config.log_level());
                    match service.reload() {
                        Ok(()) => log.info(format_args!("reloaded")),
                        Err(error) => log.error(format_args!("not reloaded: {error}")),
                    }
                }
                if let Some(identity) = identity {
                    let log = Log::new(TLS_LOG, config.log_level());
                    match identity.reload() {
                        Ok(()) => log.info(format_args!("reloaded")),
                        Err(error) => log.error(format_args!("not reloaded: {error}")),
                    }
                }
            }
        }
    }
}

/// The path of the configuration: the argument, or else the default.
pub fn config_path(argument: Option<PathBuf>) -> PathBuf {
    argument.unwrap_or_else(Config::default_path)
}
