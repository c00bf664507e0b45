//! Runs one program and everything it starts, with separate output streams.

#[cfg(test)]
mod tests;

use std::io;
use std::process::ExitStatus;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zot_process::launch::Confined;
use zot_process::{Outcome, OutputSink, RunLimits, run_with_separate_outputs};

use super::output::Output;

/// How long processes have to end when asked to.
///
/// Limit: SIGKILL follows SIGTERM.
const PROGRAM_TERMINATION_GRACE: Duration = Duration::from_millis(250);

/// The limits of one program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) time: Duration,
    /// Of each output stream.
    pub(super) output_bytes: usize,
}

/// A program that has run.
#[derive(Debug)]
pub(super) struct Finished {
    /// How it exited, if that is known; `None` when it ran out of time.
    pub(super) status: Option<Option<ExitStatus>>,
    pub(super) stdout: Output,
    pub(super) stderr: Output,
}

/// Runs `command` without input. Nothing it started survives this call, even when the future is
/// dropped. Fails only when `command` cannot be started.
pub(super) async fn run(command: impl Into<Confined>, limits: Limits) -> io::Result<Finished> {
    let mut stdout = Output::new(limits.output_bytes);
    let mut stderr = Output::new(limits.output_bytes);
    let run_limits = RunLimits {
        time: limits.time,
        termination_grace: PROGRAM_TERMINATION_GRACE,
    };
    // A caller that hangs up drops the future, which ends the program.
    let never = CancellationToken::new();
    let completion =
        run_with_separate_outputs(command, run_limits, &never, &mut stdout, &mut stderr).await?;
    Ok(Finished {
        status: match completion.outcome {
            Outcome::Exited(status) => Some(status),
            Outcome::TimedOut | Outcome::Cancelled => None,
        },
        stdout,
        stderr,
    })
}

/// Reads everything, even beyond what is kept: a program whose output is not read would block.
impl OutputSink for Output {
    async fn accept(&mut self, chunk: &[u8]) {
        self.push(chunk);
    }
}
