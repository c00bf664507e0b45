//! The steps a child takes between `fork` and `exec`.
#![expect(
    unsafe_code,
    reason = "`Command::pre_exec` has no safe form, and nothing else runs in the child"
)]

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use landlock::{Errno, RulesetCreated};
use rustix::process::{
    Pid, Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setpgid,
    setrlimit, setsid,
};
use seccompiler::BpfProgram;

use super::privileges::Surplus;

/// The first descriptor after the standard streams.
const FIRST_OTHER: libc::c_int = 3;

/// How many descriptors are looked at one by one where the kernel does not take them all at once.
const MAX_LOOKED_AT: libc::c_int = 65_536;

/// What to do, made ready in the parent.
#[derive(Default)]
pub(super) struct Steps {
    /// Who must still be there.
    pub(super) parent: Option<Pid>,
    /// Makes the child the leader of a session, without a terminal; this is the parent's group.
    pub(super) session_from: Option<Pid>,
    pub(super) memory: Option<Rlimit>,
    pub(super) privileges: Option<Surplus>,
    pub(super) files: Option<RulesetCreated>,
    pub(super) calls: Vec<BpfProgram>,
}

impl Steps {
    pub(super) fn is_empty(&self) -> bool {
        self.parent.is_none()
            && self.session_from.is_none()
            && self.memory.is_none()
            && self.privileges.is_none()
            && self.files.is_none()
            && self.calls.is_empty()
    }

    /// Makes system calls only: no allocation, no lock. Errors are bare numbers for that reason.
    fn carry_out(&mut self) -> io::Result<()> {
        if let Some(parent) = self.parent {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // Who died before the signal was asked for will not cause it.
            if getppid() != Some(parent) {
                return Err(rustix::io::Errno::SRCH.into());
            }
        }
        if let Some(group) = self.session_from {
            start_session(group)?;
        }
        close_others_on_exec();
        if let Some(limit) = self.memory {
            setrlimit(Resource::Data, limit)?;
        }
        if let Some(privileges) = &self.privileges {
            privileges.lose()?;
        }
        // Taken from the child's copy; the parent's serves for the next start of the command.
        if let Some(ruleset) = self.files.take()
            && let Err(error) = ruleset.restrict_self()
        {
            return Err(io::Error::from_raw_os_error(*Errno::from(error)));
        }
        for filter in &self.calls {
            seccompiler::apply_filter(filter).map_err(|error| match error {
                seccompiler::Error::Prctl(error) | seccompiler::Error::Seccomp(error) => error,
                _ => rustix::io::Errno::INVAL.into(),
            })?;
        }
        Ok(())
    }
}

/// The leader of a group cannot start a session, so that one which already is goes back to the
/// parent's group for a moment. Its new group has its own number, as before.
fn start_session(parent_group: Pid) -> rustix::io::Result<()> {
    if setsid().is_ok() {
        return Ok(());
    }
    setpgid(None, Some(parent_group))?;
    setsid().map(|_| ())
}

/// What zot itself inherited, or what a library opened carelessly, is not for the child.
fn close_others_on_exec() {
    // SAFETY: only flags of descriptors are changed, in a process that is about to call exec.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            FIRST_OTHER,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if done == 0 {
        return;
    }
    // Before Linux 5.11, or filtered by a container.
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.and_then(|limit| libc::c_int::try_from(limit).ok());
    for descriptor in FIRST_OTHER..limit.unwrap_or(MAX_LOOKED_AT).min(MAX_LOOKED_AT) {
        // SAFETY: as above; a number that is no descriptor is refused.
        unsafe {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

pub(super) fn install(command: &mut Command, mut steps: Steps) {
    // SAFETY: between fork and exec only what is async-signal-safe may run. `Steps::carry_out` makes
    // system calls on memory and descriptors that were made ready before the fork; it neither
    // allocates nor takes a lock, and its errors are bare error numbers. The child has its own copy
    // of `steps`, so that nothing it changes or closes there is seen by the parent.
    unsafe {
        command.pre_exec(move || steps.carry_out());
    }
}
