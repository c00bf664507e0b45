//! One session: a thread that runs zot, pipes to it, and its records on their way to the store.

#[cfg(test)]
mod tests;

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use zot_rpc::{Connection, Exit, ServeOptions, Stop, UNANNOUNCED_CONFIRM_TIMEOUT, serve};
use zot_sdk::{Config, Persistence, PreferredModel, Runtime, SessionChoice, with_causes};
use zot_stdio::executor;

use crate::replica::{Append, StoreReplica};
use crate::store::{SessionLease, StoreError};

/// How long the thread of a session may take to end once its client is gone or it was stopped: a file
/// tool can hang for ever on a network file system.
///
/// Limit: the session is released without waiting for its thread.
const SESSION_END_TIME: Duration = Duration::from_secs(15);

/// An open session, as its client sees it. Dropping both pipes aborts what runs and ends it; dropping
/// `input` lets it finish first.
pub struct Session {
    pub id: String,
    /// How many messages the conversation began with.
    pub resumed_messages: usize,
    /// What was wrong with the configuration or the records.
    pub warnings: Vec<String>,
    /// Takes the lines that `zot rpc` reads.
    pub input: pipe::Sender,
    /// Gives the lines that `zot rpc` writes.
    pub output: pipe::Receiver,
    /// Why it ended, once it is over and its lease is released.
    pub end: oneshot::Receiver<SessionEnd>,
}

/// Why a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEnd {
    /// Every command that was read was answered, and its work is done: the input ended, the worker was
    /// drained, or the store failed.
    Finished,
    /// Another worker took the session.
    Moved,
    /// The store did not answer for so long that another worker may take the session.
    Lost,
    /// The worker was stopped, or the client closed the output.
    Stopped,
    /// A fault in the session's thread.
    Failed(String),
}

/// What a session begins with.
pub(crate) struct SessionParts {
    pub(crate) id: String,
    pub(crate) config: Config,
    pub(crate) is_resumed: bool,
    pub(crate) files: SessionFiles,
    pub(crate) stop: Stop,
}

/// What the thread reports once zot has started.
struct Started {
    resumed_messages: usize,
    warnings: Vec<String>,
}

/// A session beside its thread.
pub(crate) struct RunningSession {
    lease: Arc<dyn SessionLease>,
    appends: mpsc::Receiver<Append>,
    thread: JoinHandle<Result<Exit, String>>,
    thread_ended: oneshot::Receiver<()>,
    stop: Stop,
    files: SessionFiles,
    end: oneshot::Sender<SessionEnd>,
}

/// Starts the thread of a session and waits until zot runs in it. The lease is released if it fails.
pub(crate) async fn begin(
    parts: SessionParts,
    lease: Arc<dyn SessionLease>,
) -> Result<(Session, RunningSession), String> {
    let (starting, running, client) = match start_thread(parts, &lease) {
        Ok(started) => started,
        Err(error) => {
            lease.release().await;
            return Err(format!("cannot start a session: {error}"));
        }
    };
    match starting.await {
        Ok(Ok(Started {
            resumed_messages,
            warnings,
        })) => {
            let session = Session {
                resumed_messages,
                warnings,
                ..client
            };
            Ok((session, running))
        }
        Ok(Err(problem)) => {
            drop(client);
            running.run().await;
            Err(problem)
        }
        Err(_) => {
            drop(client);
            match running.run().await {
                SessionEnd::Failed(problem) => Err(problem),
                _ => Err("the session ended before it began".to_owned()),
            }
        }
    }
}

type StartResult = Result<Started, String>;

fn start_thread(
    parts: SessionParts,
    lease: &Arc<dyn SessionLease>,
) -> io::Result<(oneshot::Receiver<StartResult>, RunningSession, Session)> {
    let SessionParts {
        id,
        mut config,
        is_resumed,
        files,
        stop,
    } = parts;
    // Tools must not inherit the pipes of any session.
    let (session_input, input) = pipe_with(PipeFlags::CLOEXEC)?;
    let (output, session_output) = pipe_with(PipeFlags::CLOEXEC)?;
    let (replica, appends) = StoreReplica::new();
    config.session = SessionChoice {
        persistence: Persistence::File(files.record_file()),
        id: Some(id.clone()),
        replica: Some(Arc::new(replica)),
        ..SessionChoice::default()
    };
    if is_resumed {
        keep_model(&mut config);
    }
    let (started, starting) = oneshot::channel();
    let (ended, thread_ended) = oneshot::channel();
    let thread_stop = stop.clone();
    let thread = thread::Builder::new()
        .name("session".to_owned())
        .spawn(move || {
            // Dropped last, also by a panic.
            let _ended: oneshot::Sender<()> = ended;
            run(config, session_input, session_output, thread_stop, started)
        })?;
    let (end, ending) = oneshot::channel();
    let client = Session {
        id,
        resumed_messages: 0,
        warnings: Vec::new(),
        input: pipe::Sender::from_owned_fd(nonblocking(input)?)?,
        output: pipe::Receiver::from_owned_fd(nonblocking(output)?)?,
        end: ending,
    };
    let running = RunningSession {
        lease: Arc::clone(lease),
        appends,
        thread,
        thread_ended,
        stop,
        files,
        end,
    };
    Ok((starting, running, client))
}

/// Runs zot for one client, on the thread of the session.
fn run(
    config: Config,
    input: OwnedFd,
    output: OwnedFd,
    stop: Stop,
    started: oneshot::Sender<StartResult>,
) -> Result<Exit, String> {
    let served = executor::run(|idle| async move {
        let runtime = match Runtime::new(config) {
            Ok(runtime) => runtime,
            Err(error) => {
                let problem = with_causes(&error);
                let _ = started.send(Err(problem.clone()));
                return Err(problem);
            }
        };
        let connection = Connection::pipes(input, output, stop, idle);
        let connection = connection.map_err(|error| error.to_string())?;
        let begun = Started {
            resumed_messages: runtime.session().map_or(0, |info| info.resumed_messages),
            warnings: runtime.warnings().to_vec(),
        };
        // Nobody waits for it if the client is already gone, which the pipes show as well.
        let _ = started.send(Ok(begun));
        let options = ServeOptions {
            token: None,
            unannounced_confirm_time: Some(UNANNOUNCED_CONFIRM_TIMEOUT),
        };
        let served = serve(runtime, connection, options).await;
        served.map_err(|error| error.to_string())
    });
    served.map_err(|error| error.to_string())?
}

impl RunningSession {
    /// Passes records on to the store until the thread has ended, and lets go of the session.
    pub(crate) async fn run(self) -> SessionEnd {
        let Self {
            lease,
            mut appends,
            thread,
            mut thread_ended,
            stop,
            files,
            mut end,
        } = self;
        let mut loss = None;
        let is_stuck = {
            let mut lost = pin!(lease.lost());
            let mut stuck = pin!(async {
                tokio::select! {
                    () = end.closed() => {}
                    () = stop.stopped() => {}
                }
                sleep(SESSION_END_TIME).await;
            });
            loop {
                tokio::select! {
                    Some(append) = appends.recv() => {
                        let Append { position, bytes, done } = append;
                        let result = lease.append(position, bytes).await;
                        if let Err(error) = &result {
                            loss = loss.or_else(|| end_of_lost(error));
                            // What runs ends by itself, with the error.
                            stop.when_idle();
                        }
                        let _ = done.send(result);
                    }
                    error = &mut lost, if loss.is_none() => {
                        loss = Some(end_of_lost(&error).unwrap_or(SessionEnd::Lost));
                        stop.now();
                    }
                    _ = &mut thread_ended => break false,
                    () = &mut stuck => break true,
                }
            }
        };
        let reason = match loss {
            Some(reason) => reason,
            None if is_stuck => SessionEnd::Failed("the session's thread does not end".to_owned()),
            None => end_of(thread),
        };
        // What a stuck thread still writes is refused.
        drop(appends);
        drop(files);
        lease.release().await;
        let _ = end.send(reason.clone());
        reason
    }
}

/// Returns why a thread that is over has ended.
fn end_of(thread: JoinHandle<Result<Exit, String>>) -> SessionEnd {
    match thread.join() {
        Ok(Ok(Exit::Finished)) => SessionEnd::Finished,
        Ok(Ok(_)) => SessionEnd::Stopped,
        Ok(Err(problem)) => SessionEnd::Failed(problem),
        Err(_) => SessionEnd::Failed("the session's thread panicked".to_owned()),
    }
}

fn end_of_lost(error: &StoreError) -> Option<SessionEnd> {
    match error {
        StoreError::Moved => Some(SessionEnd::Moved),
        StoreError::Lost => Some(SessionEnd::Lost),
        _ => None,
    }
}

/// Continues with the model that the session used last, unless the profile names a server.
fn keep_model(config: &mut Config) {
    if config.model.base_url.is_none() {
        config.model.preferred = PreferredModel {
            provider: config.model.provider.take(),
            model: config.model.model.take(),
        };
    }
}

fn nonblocking(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    let flags = fcntl_getfl(&descriptor)?;
    fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?;
    Ok(descriptor)
}

/// The local files of a session, removed when dropped.
pub(crate) struct SessionFiles(PathBuf);

impl SessionFiles {
    /// Writes the records of a session to a file below `directory`.
    pub(crate) fn write(directory: &Path, id: &str, records: &[u8]) -> io::Result<Self> {
        let path = directory.join(id);
        DirBuilder::new().mode(0o700).create(&path)?;
        let files = Self(path);
        let mut options = OpenOptions::new();
        options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(files.record_file())?
            .write_all(records)?;
        Ok(files)
    }

    fn record_file(&self) -> PathBuf {
        self.0.join("session.jsonl")
    }
}

impl Drop for SessionFiles {
    fn drop(&mut self) {
        // The worker removes the directory around it as well.
        let _ = fs::remove_dir_all(&self.0);
    }
}
