//! The steps of a child between `fork` and `exec`. It becomes the supervisor of another process, which
//! calls `exec`.

use std::io;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;

use landlock::{Errno, RulesetCreated};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Resource, Rlimit, Signal, getpid, getppid, set_child_subreaper,
    set_parent_process_death_signal, setpgid, setrlimit, setsid,
};

use super::calls::Program;
use super::control_group::ControlGroup;
use super::namespaces::Joining;
use super::privileges::Surplus;
use super::supervisor::{lead_namespace, supervise_group, supervise_namespace};
use super::sweep::Sweep;
use crate::raw::{self, Side};

/// The steps, prepared in the parent.
#[derive(Default)]
pub(crate) struct Steps {
    /// Whether the child inherits only the standard streams.
    pub(super) closes_descriptors: bool,
    /// Whether the child leads a new session, without a terminal.
    pub(super) has_session: bool,
    pub(super) isolation: Option<Isolation>,
    pub(super) limits: Vec<(Resource, Rlimit)>,
    pub(super) privileges: Option<Surplus>,
    pub(super) files: Option<RulesetCreated>,
    pub(super) calls: Option<Arc<Program>>,
    pub(super) sweep: Sweep,
    pub(super) control_group: Option<ControlGroup>,
}

/// How a command joins its view, and the pipe through which the first process of its PID namespace
/// reports.
pub(super) struct Isolation {
    pub(super) joining: Joining,
    report_reader: Option<OwnedFd>,
    report_writer: OwnedFd,
}

impl Steps {
    /// Makes system calls only: no allocation, no lock, and errors without text.
    fn carry_out(&mut self, control: &UnixStream) -> io::Result<()> {
        raw::block_signals();
        match &mut self.isolation {
            Some(isolation) => isolation.fork(control, &self.sweep)?,
            None => fork_group(control, &self.sweep, self.control_group.as_ref())?,
        }
        raw::unblock_signals();
        match self.has_session {
            true => drop(setsid()?),
            false => setpgid(None, None)?,
        }
        if self.closes_descriptors {
            raw::close_others_on_exec();
        }
        for (resource, limit) in &self.limits {
            setrlimit(*resource, *limit)?;
        }
        if let Some(privileges) = &self.privileges {
            privileges.drop_all()?;
        }
        if let Some(ruleset) = self.files.take() {
            ruleset
                .restrict_self()
                .map_err(|error| io::Error::from_raw_os_error(*Errno::from(error)))?;
        }
        if let Some(filter) = &self.calls {
            raw::filter_calls(filter)?;
        }
        Ok(())
    }
}

/// Returns in a new process; the calling one supervises it.
fn fork_group(
    control: &UnixStream,
    sweep: &Sweep,
    group: Option<&ControlGroup>,
) -> rustix::io::Result<()> {
    let supervisor = getpid();
    // We adopt orphans instead of the system's first process. Any nonzero number means yes.
    set_child_subreaper(Some(supervisor))?;
    match group.map_or_else(raw::fork, ControlGroup::fork)? {
        Side::Parent { child } => supervise_group(child, control.as_raw_fd(), sweep, group),
        Side::Child => {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // A supervisor that died before this call causes no signal.
            match getppid() == Some(supervisor) {
                true => Ok(()),
                false => Err(rustix::io::Errno::SRCH),
            }
        }
    }
}

impl Isolation {
    pub(super) fn new(joining: Joining) -> io::Result<Self> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self {
            joining,
            report_reader: Some(reader),
            report_writer: writer,
        })
    }

    /// Returns in a new process in its view; the first process of its PID namespace and the calling one
    /// supervise it.
    fn fork(&mut self, control: &UnixStream, sweep: &Sweep) -> rustix::io::Result<()> {
        self.joining.prepare_fork()?;
        let writer = self.report_writer.as_raw_fd();
        if let Side::Parent { child } = raw::fork()? {
            // Closed in the child only.
            let reader = self
                .report_reader
                .as_ref()
                .map_or(writer, |reader| reader.as_raw_fd());
            supervise_namespace(child, control.as_raw_fd(), reader, sweep);
        }
        self.report_reader = None;
        set_parent_process_death_signal(Some(Signal::KILL))?;
        self.joining.mount()?;
        match raw::fork()? {
            Side::Parent { child } => lead_namespace(child, writer),
            Side::Child => Ok(()),
        }
    }
}

/// Makes `command` carry out `steps`, supervised by a process at the other end of `control`.
pub(crate) fn install(command: &mut Command, mut steps: Steps, control: UnixStream) {
    raw::find_arguments();
    raw::before_exec(command, move || steps.carry_out(&control));
}
