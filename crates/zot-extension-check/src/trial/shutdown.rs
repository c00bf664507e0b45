//! Ends an extension: asks it to exit, then enforces it.

use std::convert::Infallible;
use std::future::pending;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use zot_extension_contract::{SHUTDOWN_TIME, TERMINATION_TIME};
use zot_process::GroupEnd;
use zot_wire::extension::{ExtensionFrame, HostFrame};

use super::{ExtensionOutput, Trial};

/// How long to wait for final output from a pipe that another process may hold open.
const FINAL_OUTPUT_TIME: Duration = Duration::from_millis(200);

/// How an extension ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShutdownReport {
    /// Whether it answered `shutdown`.
    pub acknowledged: bool,
    /// How it exited by itself; `None` if it had to be killed.
    pub status: Option<ExitStatus>,
    /// Whether processes it had started were still running.
    pub left_processes: bool,
}

impl Trial {
    /// Returns whether its process has ended.
    pub(crate) async fn has_ended(&self) -> bool {
        timeout(Duration::ZERO, self.exited()).await.is_ok()
    }

    /// Reads the remaining output, and closes the process group if the process has ended. Returns how
    /// it ended.
    pub(crate) async fn drain_output(
        &mut self,
        on_other: &mut (dyn FnMut(ExtensionOutput) + Send),
    ) -> Option<GroupEnd> {
        let deadline = Instant::now() + FINAL_OUTPUT_TIME;
        while let Some(output) = self.receive(deadline).await {
            if output == ExtensionOutput::StreamsClosed {
                break;
            }
            on_other(output);
        }
        if timeout_at(deadline, self.exited()).await.is_ok()
            && let Some(group) = self.group.take()
        {
            self.end = Some(group.close().await);
        }
        self.end
    }

    /// Sends `shutdown`, closes standard input, and kills the process if it does not exit in time.
    pub async fn shut_down(
        mut self,
        on_other: &mut (dyn FnMut(ExtensionOutput) + Send),
    ) -> ShutdownReport {
        let deadline = Instant::now() + SHUTDOWN_TIME;
        let _ = self.send(&HostFrame::Shutdown).await;
        self.stdin = None;
        let mut acknowledged = false;
        let mut note = |output: ExtensionOutput| match output {
            ExtensionOutput::Frame(ExtensionFrame::ShutdownAck) => acknowledged = true,
            output => on_other(output),
        };
        let end = match self.exits_before(deadline, &mut note).await {
            true => self.drain_output(&mut note).await,
            false => {
                self.terminate(&mut note).await;
                None
            }
        };
        self.readers.shutdown().await;
        ShutdownReport {
            acknowledged,
            status: end.and_then(|end| end.status),
            left_processes: end.is_some_and(|end| end.had_survivors),
        }
    }

    /// Returns whether the process ends before `deadline`, reading its output meanwhile.
    async fn exits_before(
        &mut self,
        deadline: Instant,
        on_other: &mut (dyn FnMut(ExtensionOutput) + Send),
    ) -> bool {
        let Some(group) = &self.group else {
            return true;
        };
        tokio::select! {
            left = timeout_at(deadline, group.exited()) => left.is_ok(),
            never = listen(&mut self.output, on_other) => match never {},
        }
    }

    /// Ends it with signals, reading its output meanwhile: a process blocked on a full pipe might not
    /// react.
    pub(crate) async fn terminate(&mut self, on_other: &mut (dyn FnMut(ExtensionOutput) + Send)) {
        if let Some(group) = self.group.take() {
            tokio::select! {
                end = group.end(TERMINATION_TIME) => self.end = Some(end),
                never = listen(&mut self.output, on_other) => match never {},
            }
        }
    }

    async fn exited(&self) {
        if let Some(group) = &self.group {
            group.exited().await;
        }
    }
}

async fn listen(
    output: &mut mpsc::Receiver<ExtensionOutput>,
    on_other: &mut (dyn FnMut(ExtensionOutput) + Send),
) -> Infallible {
    while let Some(output) = output.recv().await {
        on_other(output);
    }
    pending().await
}
