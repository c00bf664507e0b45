//! A child process with a process group of its own.

use std::io;
use std::process::ExitStatus;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::process::{Child, Command};

/// A child and everything it starts in its group; killed when dropped. What leaves the group
/// (`setsid`) is out of reach.
#[derive(Debug)]
pub(crate) struct ProcessGroup {
    child: Child,
    leader: Option<Pid>,
}

impl ProcessGroup {
    pub(crate) fn spawn(command: &mut Command) -> io::Result<Self> {
        let child = command.process_group(0).spawn()?;
        let leader = child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Ok(Self { child, leader })
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How the leader ended, if it has.
    pub(crate) fn status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // Fails only when no one is left to hear it.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Whether anyone of the group is left; the leader must have been waited for.
    pub(crate) fn has_survivors(&self) -> bool {
        self.leader
            .is_some_and(|leader| test_kill_process_group(leader).is_ok())
    }

    /// Kills who is left and forgets the group, whose number may now be given to others.
    pub(crate) fn finish(&mut self) {
        self.signal(Signal::KILL);
        self.leader = None;
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}
