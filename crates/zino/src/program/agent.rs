//! `zino agent`: runs sessions of zot for clients on the bus.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zino_agent::{SessionStore, Worker, WorkerOptions};
use zot_process::take_secret;

use super::notify;
use super::run::Signals;
use crate::agents::profile::{ProfileError, check_directory, facts, profiles, session_config};
use crate::agents::{AgentService, PostgresSessions};
use crate::bus::{Bus, BusError, DuplexService as _};
use crate::config::{BUS_URL_VARIABLE, Config, STORE_URL_VARIABLE};
use crate::descriptors;
use crate::logging::Log;
use crate::metrics;
use crate::monitor::{Check, Monitor, MonitorError, Monitoring};
use crate::postgres::TargetError;
use crate::serve::ServeOptions;

/// The name in the log lines, and of this process on the bus.
const AGENT: &str = "agent";

/// How long sessions may take to end once what runs in them was aborted.
///
/// Limit: `zino agent` exits although a session has not ended.
const SESSION_ENDING_TIME: Duration = Duration::from_secs(8);

/// Why no sessions can be run.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    #[error(
        "agents are reached over the bus: set [bus] url, or ZINO_BUS_URL, to the address of a NATS server"
    )]
    NoBus,
    #[error(
        "agents keep their sessions in PostgreSQL: set [store] url, or ZINO_STORE_URL, to its address"
    )]
    NoStore,
    #[error(transparent)]
    Bus(#[from] BusError),
    #[error("[store]: {0}")]
    Store(#[from] TargetError),
    #[error(transparent)]
    Profile(#[from] ProfileError),
    #[error(transparent)]
    Monitor(#[from] MonitorError),
    #[error("cannot keep session files: {0}")]
    Files(io::Error),
    #[error("cannot listen for signals: {0}")]
    Signals(io::Error),
}

/// Moves the addresses of the bus and the store, which may hold passwords, from the environment into the
/// configuration: tools inherit the environment. Call it while the process has a single thread.
pub fn hide_addresses(config: &mut Config) {
    config.bus.url = config.bus_url();
    config.store.url = config.store_url();
    for name in [BUS_URL_VARIABLE, STORE_URL_VARIABLE] {
        // The configuration has it.
        let _ = take_secret(name);
    }
}

/// Serves the named profiles, or all, until a signal ends it.
pub async fn run(config: &Config, config_file: &Path, named: &[String]) -> Result<(), AgentError> {
    // Every session reads its files when it is opened, so SIGHUP has nothing to do.
    let mut signals = Signals::listen().map_err(AgentError::Signals)?;
    let log = Log::new(AGENT, config.log_level());
    let chosen = profiles(config, named)?;
    for (name, profile) in &chosen {
        check_directory(name, profile, config, config_file)?;
    }
    let url = config.store_url().ok_or(AgentError::NoStore)?;
    descriptors::raise_limit();
    let bus = Bus::connect(config, &config.bus_identity(AGENT), log).await?;
    let bus = bus.ok_or(AgentError::NoBus)?;
    let owner = format!("worker {} on {}", bus.instance(), bus.host());
    let store = PostgresSessions::new(config, &url, owner, Handle::current(), log)?;
    let sessions = Arc::new(store);
    let store: Arc<dyn SessionStore> = Arc::clone(&sessions) as _;
    let monitor = Monitor::bind(config).await?;
    let stop = CancellationToken::new();
    let mut serving = JoinSet::new();
    let mut workers = Vec::new();
    for (name, profile) in chosen {
        let options = WorkerOptions {
            profile: name.to_owned(),
            config: session_config(name, profile)?,
            max_sessions: profile.sessions,
        };
        let worker = Worker::new(options, Arc::clone(&store)).map_err(AgentError::Files)?;
        let service = AgentService {
            profile: name.to_owned(),
            facts: facts(profile),
            max_sessions: profile.sessions,
            worker: worker.clone(),
            bus: bus.clone(),
            log,
        };
        let serve_options = ServeOptions {
            max_frame_bytes: config.wire.max_frame_bytes,
            max_connections: profile.sessions,
            ending_time: config.drain_timeout() + SESSION_ENDING_TIME,
            log,
        };
        metrics::of_named(&service.name()).set_capacity(profile.sessions);
        serving.spawn(bus.serve_duplex(Arc::new(service), serve_options, stop.clone()));
        log.info(format_args!(
            "serving profile {name} in {}",
            profile.directory.display()
        ));
        workers.push(worker);
    }
    let store_check: Check = Box::new(move || sessions.check());
    let monitoring = Monitoring::begin(monitor, vec![store_check], stop.clone());
    notify::ready();
    let failed = tokio::select! {
        () = signals.end() => None,
        Some(served) = serving.join_next() => served.ok().and_then(Result::err),
    };
    notify::stopping();
    metrics::DRAINING.set(1);
    stop.cancel();
    end_sessions(&workers, config.drain_timeout(), &mut signals).await;
    let served = async { while serving.join_next().await.is_some() {} };
    tokio::select! {
        () = served => {}
        // A second one ends what is left.
        () = signals.end() => {}
    }
    monitoring.end().await;
    failed.map_or(Ok(()), |error| Err(error.into()))
}

/// Lets what runs finish for a while, then ends all sessions. Their clients go on elsewhere.
async fn end_sessions(workers: &[Worker], patience: Duration, signals: &mut Signals) {
    workers.iter().for_each(Worker::drain);
    let closed = async {
        for worker in workers {
            worker.closed().await;
        }
    };
    tokio::select! {
        ended = timeout(patience, closed) => {
            if ended.is_ok() {
                return;
            }
        }
        () = signals.end() => {}
    }
    workers.iter().for_each(Worker::stop);
    let closed = async {
        for worker in workers {
            worker.closed().await;
        }
    };
    // What is left loses its lease with this process.
    let _ = timeout(SESSION_ENDING_TIME, closed).await;
}
