//! Linux: a supervisor between us and the program keeps track of every process that the program
//! started and ends them all, even when we are killed.

use std::io;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::process::Pid;
use tokio::net::UnixStream;
use tokio::time::{Instant, timeout, timeout_at};

use super::exit_watch::ExitWatch;
use super::protocol::{KILL, REPORT_BYTES, Report, TERMINATE};
use super::{DROP_TIME, GroupEnd, KILL_TIME, SETTLE_TIME};
use crate::launch::{Confined, install};

/// A running program and every process it started, in its process group or not. Dropping it kills
/// them; so does the end of this process, whatever the cause.
pub struct ProcessGroup {
    supervisor: Child,
    watch: ExitWatch,
    control: UnixStream,
    received: Mutex<Received>,
    is_reaped: bool,
}

/// What the supervisor has reported so far.
#[derive(Debug, Default)]
struct Received {
    /// A report, and a byte if the last process exited later.
    bytes: Vec<u8>,
    /// Whether the supervisor has closed the connection.
    is_closed: bool,
}

impl Received {
    fn report(&self) -> Option<Report> {
        let (report, _) = self.bytes.split_first_chunk::<REPORT_BYTES>()?;
        Some(Report::from_bytes(*report))
    }

    fn has_exited(&self) -> bool {
        self.is_closed || self.report().is_some()
    }

    fn is_gone(&self) -> bool {
        let without_others = self.report().is_some_and(|report| !report.others);
        self.is_closed || without_others || self.bytes.len() > REPORT_BYTES
    }
}

impl ProcessGroup {
    /// Starts `command` as the leader of a new group. The command is dropped, and with it our
    /// copies of the descriptors it passes on.
    ///
    /// Must be called inside a tokio runtime.
    pub fn spawn(command: impl Into<Confined>) -> io::Result<Self> {
        let (control, supervisor_end) = StdUnixStream::pair()?;
        control.set_nonblocking(true)?;
        let control = UnixStream::from_std(control)?;
        let mut command = install(command.into(), supervisor_end);
        // A separate group, so that keys of the terminal do not signal the supervisor.
        let supervisor = command.process_group(0).spawn()?;
        // Dropping our end of the connection is enough to end everything.
        let watch = ExitWatch::new(Pid::from_child(&supervisor))?;
        Ok(Self {
            supervisor,
            watch,
            control,
            received: Mutex::new(Received::default()),
            is_reaped: false,
        })
    }

    /// Returns once the program has exited. May be dropped and called again.
    pub async fn exited(&self) {
        self.until(Received::has_exited).await;
    }

    /// Returns how the program exited, if it has.
    pub fn status(&self) -> Option<ExitStatus> {
        let report = self.receive().report();
        report.map(|report| ExitStatus::from_raw(report.status))
    }

    /// Ends a group whose program has exited; remaining processes are killed.
    pub async fn close(mut self) -> GroupEnd {
        self.exited().await;
        let settled = timeout(SETTLE_TIME, self.until(Received::is_gone))
            .await
            .is_ok();
        if !settled {
            self.kill().await;
        }
        self.finish(!settled).await
    }

    /// Asks every process to end, and kills those that have not after `grace`.
    ///
    /// Callers that can ask a child to end by other means wait for [`exited`](Self::exited) first, with a
    /// limit; then they call [`close`](Self::close) if it exited, and this function if it did not.
    pub async fn end(mut self, grace: Duration) -> GroupEnd {
        let deadline = Instant::now() + grace;
        // Checked before the signal: a process that obeys immediately was a survivor, too.
        let had_exited = self.receive().has_exited();
        let mut had_survivors = had_exited && !self.receive().is_gone();
        self.send(TERMINATE);
        if timeout_at(deadline, self.exited()).await.is_ok() {
            if !had_exited {
                let report = self.receive().report();
                had_survivors = report.is_some_and(|report| report.others);
            }
            let _ = timeout_at(deadline, self.until(Received::is_gone)).await;
        }
        if !self.receive().is_gone() {
            self.kill().await;
        }
        self.finish(had_survivors).await
    }

    async fn kill(&mut self) {
        self.send(KILL);
        let _ = timeout(KILL_TIME, self.until(Received::is_gone)).await;
    }

    /// Reaps the supervisor, which exits when no process is left.
    async fn finish(&mut self, had_survivors: bool) -> GroupEnd {
        let _ = timeout(KILL_TIME, self.watch.exited()).await;
        self.reap();
        GroupEnd {
            status: self.status(),
            had_survivors,
        }
    }

    fn reap(&mut self) {
        // An error means that it was reaped elsewhere, for instance because SIGCHLD is ignored.
        self.is_reaped |= !matches!(self.supervisor.try_wait(), Ok(None));
    }

    fn send(&self, order: u8) {
        // Fails only if the supervisor is gone: the socket has room for a byte.
        let _ = self.control.try_write(&[order]);
    }

    async fn until(&self, condition: fn(&Received) -> bool) {
        while !condition(&self.receive()) {
            if self.control.readable().await.is_err() {
                // Fails only when the runtime shuts down; `Drop` ends the group.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Reads what has been reported by now.
    fn receive(&self) -> MutexGuard<'_, Received> {
        let mut received = self.received.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = [0; 2 * REPORT_BYTES];
        while !received.is_closed {
            match self.control.try_read(&mut bytes) {
                Ok(0) => received.is_closed = true,
                Ok(count) => received.bytes.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => received.is_closed = true,
            }
        }
        received
    }
}

impl Drop for ProcessGroup {
    /// Kills and reaps synchronously: a task could outlive the runtime. The supervisor finishes the
    /// work if it takes longer.
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        self.send(KILL);
        let deadline = Instant::now() + DROP_TIME;
        loop {
            self.reap();
            if self.is_reaped || Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}
