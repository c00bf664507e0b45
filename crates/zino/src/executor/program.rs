//! One program with all that it starts, its two output streams apart.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, sleep_until, timeout};
use zot_process::ProcessGroup;
use zot_process::launch::Confined;

use super::output::Output;

/// Between asking processes to end and killing them.
///
/// Limit: SIGKILL follows SIGTERM.
const PROGRAM_TERMINATION_GRACE: Duration = Duration::from_millis(250);

/// How long background processes that hold the output open may run on after the program.
///
/// Limit: background processes that keep the output open are ended.
const PROGRAM_BACKGROUND_GRACE: Duration = Duration::from_secs(2);

/// How long to read on after everyone is dead: elsewhere than on Linux, a process that left its group
/// can hold the output open for ever.
///
/// Limit: output is read no further once all processes have exited.
const PROGRAM_DRAIN_TIME: Duration = Duration::from_millis(500);

/// What one read takes at most: a full pipe.
const CHUNK_BYTES: usize = 64 * 1024;

/// What a program is held to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// Of each output stream.
    pub(super) output_bytes: usize,
}

/// A program that has run.
#[derive(Debug)]
pub(super) struct Finished {
    /// How it exited, if that is known; nothing when its time was up.
    pub(super) status: Option<Option<ExitStatus>>,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

/// Why the wait for a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stop {
    Finished,
    /// It is over, but its output is still open after the grace.
    Background,
    TimedOut,
}

/// Runs `command` without input. Nothing that it started is alive afterwards, nor when this is
/// dropped. Fails only when it cannot be started.
pub(super) async fn run(command: impl Into<Confined>, limits: Limits) -> io::Result<Finished> {
    let (stdout_reader, stdout_writer) = io::pipe()?;
    let (stderr_reader, stderr_writer) = io::pipe()?;
    let stdout_reader = pipe::Receiver::from_owned_fd(stdout_reader.into())?;
    let stderr_reader = pipe::Receiver::from_owned_fd(stderr_reader.into())?;
    let mut command = command.into();
    command
        .command_mut()
        .stdin(Stdio::null())
        .stdout(stdout_writer)
        .stderr(stderr_writer);
    let deadline = Instant::now() + limits.time;
    let group = ProcessGroup::spawn(command)?;

    let mut stdout = Output::new(limits.output_bytes);
    let mut stderr = Output::new(limits.output_bytes);
    let stop;
    let status;
    {
        let mut reading = pin!(async {
            tokio::join!(
                read(stdout_reader, &mut stdout),
                read(stderr_reader, &mut stderr)
            );
        });
        let mut drained = false;
        stop = supervise(&group, deadline, reading.as_mut(), &mut drained).await;
        let mut ending = pin!(async {
            match stop {
                Stop::Finished => group.close().await,
                Stop::Background | Stop::TimedOut => group.end(PROGRAM_TERMINATION_GRACE).await,
            }
        });
        status = loop {
            tokio::select! {
                biased;
                end = &mut ending => break end.status,
                // Who is asked to end may have something to say and must not block on it.
                () = &mut reading, if !drained => drained = true,
            }
        };
        if !drained {
            let _ = timeout(PROGRAM_DRAIN_TIME, reading).await;
        }
    }
    Ok(Finished {
        status: (stop != Stop::TimedOut).then_some(status),
        stdout,
        stderr,
    })
}

async fn supervise(
    group: &ProcessGroup,
    deadline: Instant,
    mut reading: Pin<&mut impl Future<Output = ()>>,
    drained: &mut bool,
) -> Stop {
    let mut exited = false;
    let mut limit = pin!(sleep_until(deadline));
    loop {
        tokio::select! {
            biased;
            // A flood uses up the task's budget, so the output comes last: whatever is polled after
            // it might never be heard.
            () = group.exited(), if !exited => {
                exited = true;
                limit.as_mut().reset(Instant::now() + PROGRAM_BACKGROUND_GRACE);
            }
            () = &mut limit => {
                return if exited { Stop::Background } else { Stop::TimedOut };
            }
            () = &mut reading, if !*drained => *drained = true,
        }
        if exited && *drained {
            return Stop::Finished;
        }
    }
}

/// Reads to the end, beyond what is kept: a program that nobody reads would stand still.
async fn read(mut reader: pipe::Receiver, output: &mut Output) {
    let mut chunk = Vec::with_capacity(CHUNK_BYTES);
    // A pipe that cannot be read has nothing more to give: the same as its end.
    while let Ok(1..) = reader.read_buf(&mut chunk).await {
        output.push(&chunk);
        chunk.clear();
    }
}
