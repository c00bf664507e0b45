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
    Pid, Resource, Rlimit, Signal, getppid, set_parent_process_death_signal, setrlimit,
};
use seccompiler::BpfProgram;

use super::privileges::Surplus;

/// What to do, made ready in the parent.
#[derive(Default)]
pub(super) struct Steps {
    /// Who must still be there.
    pub(super) parent: Option<Pid>,
    pub(super) memory: Option<Rlimit>,
    pub(super) privileges: Option<Surplus>,
    pub(super) files: Option<RulesetCreated>,
    pub(super) calls: Vec<BpfProgram>,
}

impl Steps {
    pub(super) fn is_empty(&self) -> bool {
        self.parent.is_none()
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

pub(super) fn install(command: &mut Command, mut steps: Steps) {
    // SAFETY: between fork and exec only what is async-signal-safe may run. `Steps::carry_out` makes
    // system calls on memory and descriptors that were made ready before the fork; it neither
    // allocates nor takes a lock, and its errors are bare error numbers. The child has its own copy
    // of `steps`, so that nothing it changes or closes there is seen by the parent.
    unsafe {
        command.pre_exec(move || steps.carry_out());
    }
}
