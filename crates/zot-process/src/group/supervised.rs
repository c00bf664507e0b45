//! Linux: a supervisor between us and the program knows all that the program started, wherever it
//! went, and ends it, also when we cannot any more.

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

/// A running program and all that it started, in its process group or elsewhere. Dropping it kills
/// them; so does our own end, whatever brings it about.
pub struct ProcessGroup {
    supervisor: Child,
    watch: ExitWatch,
    control: UnixStream,
    heard: Mutex<Heard>,
    is_reaped: bool,
}

/// What the supervisor has said so far.
#[derive(Debug, Default)]
struct Heard {
    /// A report, and a byte when the last process was gone later.
    bytes: Vec<u8>,
    /// The supervisor itself is gone.
    is_over: bool,
}

impl Heard {
    fn report(&self) -> Option<Report> {
        let (report, _) = self.bytes.split_first_chunk::<REPORT_BYTES>()?;
        Some(Report::from_bytes(*report))
    }

    fn has_exited(&self) -> bool {
        self.is_over || self.report().is_some()
    }

    fn is_gone(&self) -> bool {
        let alone = self.report().is_some_and(|report| !report.others);
        self.is_over || alone || self.bytes.len() > REPORT_BYTES
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
        // The supervisor's group: the keys of the terminal are not for it.
        let supervisor = command.process_group(0).spawn()?;
        // Dropping our end of the connection is enough to end everything.
        let watch = ExitWatch::new(Pid::from_child(&supervisor))?;
        Ok(Self {
            supervisor,
            watch,
            control,
            heard: Mutex::new(Heard::default()),
            is_reaped: false,
        })
    }

    /// Returns once the program has exited. May be dropped and called again.
    pub async fn exited(&self) {
        self.until(Heard::has_exited).await;
    }

    /// How the program exited, if it has.
    pub fn status(&self) -> Option<ExitStatus> {
        let report = self.listen().report();
        report.map(|report| ExitStatus::from_raw(report.status))
    }

    /// Takes leave of a group whose program has exited; whatever is left is killed.
    pub async fn close(mut self) -> GroupEnd {
        self.exited().await;
        let settled = timeout(SETTLE_TIME, self.until(Heard::is_gone))
            .await
            .is_ok();
        if !settled {
            self.kill().await;
        }
        self.leave(!settled).await
    }

    /// Asks every process to end, and kills those that have not after `grace`.
    ///
    /// Callers that can ask a child to end by other means wait for [`exited`](Self::exited) first, with a
    /// limit; then [`close`](Self::close) takes leave of one that obeyed, and this ends the others.
    pub async fn end(mut self, grace: Duration) -> GroupEnd {
        let deadline = Instant::now() + grace;
        // Looked at before anyone is told to go: who obeys at once was there, too.
        let had_exited = self.listen().has_exited();
        let mut had_survivors = had_exited && !self.listen().is_gone();
        self.tell(TERMINATE);
        if timeout_at(deadline, self.exited()).await.is_ok() {
            if !had_exited {
                let report = self.listen().report();
                had_survivors = report.is_some_and(|report| report.others);
            }
            let _ = timeout_at(deadline, self.until(Heard::is_gone)).await;
        }
        if !self.listen().is_gone() {
            self.kill().await;
        }
        self.leave(had_survivors).await
    }

    async fn kill(&mut self) {
        self.tell(KILL);
        let _ = timeout(KILL_TIME, self.until(Heard::is_gone)).await;
    }

    /// Reaps the supervisor, which goes by itself when nothing is left to look after.
    async fn leave(&mut self, had_survivors: bool) -> GroupEnd {
        let _ = timeout(KILL_TIME, self.watch.exited()).await;
        self.reap();
        GroupEnd {
            status: self.status(),
            had_survivors,
        }
    }

    fn reap(&mut self) {
        // An error means that someone else reaped it, for instance because SIGCHLD is ignored.
        self.is_reaped |= !matches!(self.supervisor.try_wait(), Ok(None));
    }

    fn tell(&self, order: u8) {
        // A supervisor that does not listen is gone; one that does has room for a byte.
        let _ = self.control.try_write(&[order]);
    }

    async fn until(&self, condition: fn(&Heard) -> bool) {
        while !condition(&self.listen()) {
            if self.control.readable().await.is_err() {
                // Only a runtime that shuts down refuses; `Drop` takes over.
                std::future::pending::<()>().await;
            }
        }
    }

    /// Takes what has been said by now.
    fn listen(&self) -> MutexGuard<'_, Heard> {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        let mut bytes = [0; 2 * REPORT_BYTES];
        while !heard.is_over {
            match self.control.try_read(&mut bytes) {
                Ok(0) => heard.is_over = true,
                Ok(count) => heard.bytes.extend_from_slice(&bytes[..count]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => heard.is_over = true,
            }
        }
        heard
    }
}

impl Drop for ProcessGroup {
    /// Kills and reaps at once. A task for it could outlive the runtime; a short wait cannot, and the
    /// supervisor goes on without us if it takes longer.
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        self.tell(KILL);
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
