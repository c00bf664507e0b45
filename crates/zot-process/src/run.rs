//! Runs a command to its end, with a time limit, and forwards its output.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::launch::Confined;
use crate::{GroupEnd, ProcessGroup};

/// The time between asking processes to end and killing them.
///
/// Limit: SIGKILL follows SIGTERM.
pub const TERMINATION_GRACE: Duration = Duration::from_secs(3);

/// How long background processes that keep the output open may outlive the command.
///
/// Limit: background processes that keep the output open are ended.
const BACKGROUND_GRACE: Duration = Duration::from_secs(2);

/// How long to read after all processes have ended: where processes can leave their group unseen, one
/// of them could keep the output open forever.
///
/// Limit: output is read no further once all processes have exited.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// The size of one read: a full pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// Receives the output of a running command.
pub trait OutputSink: Send {
    /// Receives the next bytes. While this waits, the command's writes wait, too.
    fn accept(&mut self, chunk: &[u8]) -> impl Future<Output = ()> + Send;
}

/// How a command ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    pub outcome: Outcome,
    pub elapsed: Duration,
    /// Whether processes were still running in the background and had to be ended.
    pub ended_background: bool,
    /// Whether a process that is out of reach keeps the output open: on Linux only one of another user.
    pub left_daemon: bool,
}

/// Why a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It exited; `None` if its status was lost.
    Exited(Option<ExitStatus>),
    TimedOut,
    Cancelled,
}

/// How long a command may run, and how it is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLimits {
    pub time: Duration,
    /// The time between SIGTERM and SIGKILL.
    pub termination_grace: Duration,
}

impl From<Duration> for RunLimits {
    fn from(time: Duration) -> Self {
        Self {
            time,
            termination_grace: TERMINATION_GRACE,
        }
    }
}

/// Runs `command` without input and sends its standard output and error to `sink`.
///
/// Returns when the command has exited and its output is closed; no process that it started is alive
/// then. Fails only if the command cannot be started.
pub async fn run<S: OutputSink>(
    command: impl Into<Confined>,
    limits: impl Into<RunLimits>,
    cancel: &CancellationToken,
    sink: &mut S,
) -> io::Result<Completion> {
    let (reader, writer) = output_pipe()?;
    let mut command = command.into();
    command
        .command_mut()
        .stdout(writer.try_clone()?)
        .stderr(writer);
    run_reading(command, limits.into(), cancel, forward(reader, sink)).await
}

/// Runs `command` as [`run`] does, with a sink for each of its output streams.
pub async fn run_with_separate_outputs<S: OutputSink>(
    command: impl Into<Confined>,
    limits: impl Into<RunLimits>,
    cancel: &CancellationToken,
    stdout: &mut S,
    stderr: &mut S,
) -> io::Result<Completion> {
    let (stdout_reader, stdout_writer) = output_pipe()?;
    let (stderr_reader, stderr_writer) = output_pipe()?;
    let mut command = command.into();
    command
        .command_mut()
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    let output = async {
        tokio::join!(
            forward(stdout_reader, stdout),
            forward(stderr_reader, stderr)
        );
    };
    run_reading(command, limits.into(), cancel, output).await
}

/// Creates a pipe whose reading end is asynchronous.
fn output_pipe() -> io::Result<(pipe::Receiver, io::PipeWriter)> {
    let (reader, writer) = io::pipe()?;
    Ok((pipe::Receiver::from_owned_fd(reader.into())?, writer))
}

/// Runs `command`, whose outputs are set, while `output` reads them to the end.
async fn run_reading(
    mut command: Confined,
    limits: RunLimits,
    cancel: &CancellationToken,
    output: impl Future<Output = ()>,
) -> io::Result<Completion> {
    command.command_mut().stdin(Stdio::null());
    let started = Instant::now();
    let group = ProcessGroup::spawn(command)?;

    let mut output = pin!(output);
    let mut is_drained = false;
    let stop = supervise(
        &group,
        started + limits.time,
        cancel,
        output.as_mut(),
        &mut is_drained,
    )
    .await;

    let mut ending = pin!(async {
        match stop {
            Stop::Finished => group.close().await,
            _ => group.end(limits.termination_grace).await,
        }
    });
    let end: GroupEnd = loop {
        tokio::select! {
            biased;
            end = &mut ending => break end,
            // A process that is asked to end may still write, and must not block.
            () = &mut output, if !is_drained => is_drained = true,
        }
    };
    if !is_drained {
        is_drained = timeout(DRAIN_TIME, output).await.is_ok();
    }
    Ok(Completion {
        outcome: match stop {
            Stop::Finished | Stop::Background => Outcome::Exited(end.status),
            Stop::TimedOut => Outcome::TimedOut,
            Stop::Cancelled => Outcome::Cancelled,
        },
        elapsed: started.elapsed(),
        ended_background: matches!(stop, Stop::Background | Stop::Finished) && end.had_survivors,
        left_daemon: stop == Stop::Background && !is_drained,
    })
}

/// Why the wait for a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Finished,
    /// The command has exited, but its output is still open after the grace period.
    Background,
    TimedOut,
    Cancelled,
}

async fn supervise(
    group: &ProcessGroup,
    deadline: Instant,
    cancel: &CancellationToken,
    mut output: impl Future<Output = ()> + Unpin,
    is_drained: &mut bool,
) -> Stop {
    let mut exited = false;
    let mut limit = pin!(sleep_until(deadline));
    loop {
        tokio::select! {
            biased;
            // A flood uses up the task's budget, so the output comes last: a branch after it might
            // never be polled.
            () = cancel.cancelled() => return Stop::Cancelled,
            () = group.exited(), if !exited => {
                exited = true;
                limit.as_mut().reset(Instant::now() + BACKGROUND_GRACE);
            }
            () = &mut limit => return if exited { Stop::Background } else { Stop::TimedOut },
            () = &mut output, if !*is_drained => *is_drained = true,
        }
        if exited && *is_drained {
            return Stop::Finished;
        }
    }
}

async fn forward<S: OutputSink>(mut reader: pipe::Receiver, sink: &mut S) {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    // A read error counts as the end.
    while let Ok(1..) = reader.read_buf(&mut chunk).await {
        sink.accept(&chunk).await;
        chunk.clear();
    }
}
