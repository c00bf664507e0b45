//! Filters for system calls, by which a child gets no sockets.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

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

/// The sockets that a child does not get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Every,
    /// Those of the family `AF_UNIX`.
    Local,
}

/// One filter for each answer: none of these sockets, and no ring that would open one unseen.
/// Calls of a foreign architecture, which have numbers of their own, end the process.
pub(super) fn filters(refused: Refused) -> Result<Vec<BpfProgram>, ConfineError> {
    let made = || {
        let sockets = match refused {
            Refused::Every => Vec::new(),
            Refused::Local => vec![of_family(libc::AF_UNIX)?],
        };
        Ok(vec![
            filter(libc::SYS_socket, sockets, Errno::ACCESS)?,
            // Programs take this for an old kernel, and do without.
            filter(libc::SYS_io_uring_setup, Vec::new(), Errno::NOSYS)?,
        ])
    };
    made().map_err(|error: BackendError| ConfineError::CallFilter(io::Error::other(error)))
}

/// The family is the first argument, of which the kernel looks at the lower half.
fn of_family(family: libc::c_int) -> Result<SeccompRule, BackendError> {
    let family = u64::from(family.unsigned_abs());
    let is_family = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, family)?;
    SeccompRule::new(vec![is_family])
}

/// Answers `call` with `errno`, always or where one of `rules` matches.
fn filter(call: i64, rules: Vec<SeccompRule>, errno: Errno) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut by_call = BTreeMap::new();
    if architecture == TargetArch::x86_64 {
        by_call.insert(call | X32_BIT, rules.clone());
    }
    by_call.insert(call, rules);
    SeccompFilter::new(
        by_call,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error().unsigned_abs()),
        architecture,
    )?
    .try_into()
}
