//! Runs services until a signal ends them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::notify;
use crate::config::Config;
use crate::descriptors;
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::serve::{BindError, SERVICE_ENDING_TIME, ServeOptions, Socket, serve};
use crate::service::AnyService;
use crate::stack::Stack;

/// Why the services could not be started.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    Build(String),
    #[error(transparent)]
    Bind(#[from] BindError),
    #[error("cannot listen for signals: {0}")]
    Signals(#[from] io::Error),
}

/// Runs one service, or all of them.
pub async fn run(config: &Config, kind: Option<ServiceKind>) -> Result<(), RunError> {
    // Before any socket exists: a program that sees one may send a signal, which would otherwise kill
    // this process.
    let mut signals = Signals::listen()?;
    hide_environment();
    let services = match kind {
        Some(kind) => vec![Stack::new(config).build(kind).map_err(RunError::Build)?],
        None => Stack::all(config).map_err(RunError::Build)?,
    };
    let stop = CancellationToken::new();
    // All sockets first: if one cannot be bound, none may be served.
    let sockets: Vec<Socket> = services
        .iter()
        .map(|service| Socket::bind(&config.socket(service.kind())))
        .collect::<Result<_, _>>()?;
    let max_connections = descriptors::connections();
    let mut serving = JoinSet::new();
    for (service, socket) in services.iter().zip(sockets) {
        let log = Log::new(service.kind().name(), config.log_level());
        log.info(format_args!("listening on {}", socket.path().display()));
        let options = ServeOptions {
            max_frame_bytes: config.wire.max_frame_bytes,
            max_connections,
            ending_time: SERVICE_ENDING_TIME,
            log,
        };
        serving.spawn(serve(socket, Arc::clone(service), options, stop.clone()));
        let preparing = Arc::clone(service);
        let stop = stop.clone();
        serving.spawn_blocking(move || preparing.prepare(log, &stop));
    }
    notify::ready();
    wait_for_end(&mut signals, &services, config).await;
    notify::stopping();
    stop.cancel();
    while serving.join_next().await.is_some() {}
    Ok(())
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
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Signals {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }
}

/// Waits for SIGTERM or SIGINT; SIGHUP makes all services reload their files.
async fn wait_for_end(signals: &mut Signals, services: &[Arc<dyn AnyService>], config: &Config) {
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
            }
        }
    }
}

/// The path of the configuration: the argument, or else the default.
pub fn config_path(argument: Option<PathBuf>) -> PathBuf {
    argument.unwrap_or_else(Config::default_path)
}
