//! Systems other than Linux: a child process together with its process group. Processes that leave the
//! group (`setsid`) are out of reach, and nothing ends when we are killed.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt as _};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use super::exit_watch::ExitWatch;
use super::survivors::any_alive;
use super::{DROP_TIME, GroupEnd, KILL_TIME, SETTLE_TIME};
use crate::launch::Confined;

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// A running process group. Dropping it kills the group.
pub struct ProcessGroup {
    child: Child,
    group: Pid,
    watch: ExitWatch,
    /// Set once the leader is reaped; the inner value is `None` if its status was lost.
    reaped: Option<Option<ExitStatus>>,
    is_gone: bool,
}

impl ProcessGroup {
    /// Starts `command` as the leader of a new group. The command is dropped, and with it our
    /// copies of the descriptors it passes on.
    ///
    /// Must be called inside a tokio runtime.
    pub fn spawn(command: impl Into<Confined>) -> io::Result<Self> {
        let mut command = command.into().into_command();
        let mut child = command.process_group(0).spawn()?;
        let group = Pid::from_child(&child);
        match ExitWatch::new(group) {
            Ok(watch) => Ok(Self {
                child,
                group,
                watch,
                reaped: None,
                is_gone: false,
            }),
            Err(error) => {
                let _ = kill_process_group(group, Signal::KILL);
                child.wait()?;
                Err(error)
            }
        }
    }

    /// Returns once the leader has exited. May be dropped and called again.
    pub async fn exited(&self) {
        if self.reaped.is_none() {
            self.watch.exited().await;
        }
    }

    /// Returns how the leader exited, if it has, without reaping it.
    pub fn status(&self) -> Option<ExitStatus> {
        if let Some(status) = self.reaped {
            return status;
        }
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let found = waitid(WaitId::Pid(self.group), options).ok().flatten()?;
        let code = found.exit_status().map(|code| code << 8);
        code.or(found.terminating_signal())
            .map(ExitStatus::from_raw)
    }

    /// Ends a group whose leader has exited; processes left in it are killed.
    pub async fn close(mut self) -> GroupEnd {
        self.exited().await;
        self.reap();
        let settled = self.wait_until_empty(Instant::now() + SETTLE_TIME).await;
        if !settled {
            self.kill().await;
        }
        self.end_report(!settled)
    }

    /// Asks every process in the group to end, and kills those that have not after `grace`.
    ///
    /// Callers that can ask a child to end by other means wait for [`exited`](Self::exited) first, with a
    /// limit; then they call [`close`](Self::close) if it exited, and this function if it did not.
    pub async fn end(mut self, grace: Duration) -> GroupEnd {
        let deadline = Instant::now() + grace;
        self.reap();
        // Checked before the signal: a process that obeys immediately was a survivor, too.
        let mut had_survivors = self.reaped.is_some() && any_alive(self.group);
        self.is_gone = self.reaped.is_some() && !had_survivors;
        self.signal(Signal::TERM);
        if timeout_at(deadline, self.exited()).await.is_ok() {
            self.reap();
            had_survivors |= any_alive(self.group);
            self.wait_until_empty(deadline).await;
        }
        if !self.is_gone {
            self.kill().await;
        }
        self.end_report(had_survivors)
    }

    fn end_report(&self, had_survivors: bool) -> GroupEnd {
        GroupEnd {
            status: self.reaped.flatten(),
            had_survivors,
        }
    }

    async fn kill(&mut self) {
        self.signal(Signal::KILL);
        if timeout(KILL_TIME, self.exited()).await.is_ok() {
            self.reap();
            self.wait_until_empty(Instant::now() + KILL_TIME).await;
        }
    }

    /// Polls until no member is alive; the leader must be reaped. Returns false at `deadline`.
    async fn wait_until_empty(&mut self, deadline: Instant) -> bool {
        while any_alive(self.group) {
            if Instant::now() >= deadline {
                return false;
            }
            sleep(POLL_INTERVAL).await;
        }
        self.is_gone = true;
        true
    }

    fn reap(&mut self) {
        if self.reaped.is_none() {
            match self.child.try_wait() {
                Ok(Some(status)) => self.reaped = Some(Some(status)),
                Ok(None) => {}
                // It was reaped elsewhere, for instance because SIGCHLD is ignored.
                Err(_) => self.reaped = Some(None),
            }
        }
    }

    /// Signals the group, whose id cannot have been reused: an unreaped leader or a member holds it.
    fn signal(&self, signal: Signal) {
        if !self.is_gone {
            // Fails only if no process is left.
            let _ = kill_process_group(self.group, signal);
        }
    }
}

impl Drop for ProcessGroup {
    /// Kills and reaps synchronously: a task could outlive the runtime.
    fn drop(&mut self) {
        if self.is_gone {
            return;
        }
        self.signal(Signal::KILL);
        let deadline = Instant::now() + DROP_TIME;
        while self.reaped.is_none() && Instant::now() < deadline {
            self.reap();
            if self.reaped.is_none() {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}
