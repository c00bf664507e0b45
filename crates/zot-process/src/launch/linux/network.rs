//! Filters for system calls, by which a child gets no sockets.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use crate::launch::ConfineError;

/// Where the kernel lists what a filter may answer.
const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// On `x86_64` the kernel may know every call by a second number, that of the x32 ABI.
const X32_BIT: i64 = 0x4000_0000;

/// Whether the kernel takes filters, or why not.
pub(super) fn filters_available() -> Result<(), String> {
    let architecture = std::env::consts::ARCH;
    if TargetArch::try_from(architecture).is_err() {
        return Err(format!("there is no filter for {architecture} processors"));
    }
    match std::fs::read_to_string(ACTIONS) {
        Ok(actions) if actions.split_whitespace().any(|action| action == "errno") => Ok(()),
        _ => Err("this kernel does not say that it filters system calls (seccomp)".to_owned()),
    }
}

/// One filter for each answer: no socket of any family, and no ring that would open one unseen.
/// Calls of a foreign architecture, which have numbers of their own, end the process.
pub(super) fn filters() -> Result<Vec<BpfProgram>, ConfineError> {
    let refusals = [
        (libc::SYS_socket, Errno::ACCESS),
        // Programs take this for an old kernel, and do without.
        (libc::SYS_io_uring_setup, Errno::NOSYS),
    ];
    let filters = refusals.map(|(call, errno)| {
        filter(call, errno).map_err(|error| ConfineError::CallFilter(io::Error::other(error)))
    });
    filters.into_iter().collect()
}

fn filter(call: i64, errno: Errno) -> Result<BpfProgram, seccompiler::BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut rules = BTreeMap::from([(call, Vec::new())]);
    if architecture == TargetArch::x86_64 {
        rules.insert(call | X32_BIT, Vec::new());
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error().unsigned_abs()),
        architecture,
    )?
    .try_into()
}
