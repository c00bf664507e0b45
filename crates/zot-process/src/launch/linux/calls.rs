//! System call filters (seccomp).

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};

use crate::launch::ConfineError;

/// Where the kernel lists the actions of filters.
const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// On `x86_64` every call may have a second number, that of the x32 ABI.
const X32_BIT: i64 = 0x4000_0000;

/// Numbers that are the same on every architecture and missing from some C library headers.
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

/// Creates a file in memory that can never be executed.
const MFD_NOEXEC_SEAL: u64 = 8;

/// Requests that change attributes of files: `FS_IOC_SETFLAGS` in both widths, `FS_IOC_FSSETXATTR`.
const ATTRIBUTE_REQUESTS: [u64; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// The arguments of `setpriority` and `ioprio_set` that mean all processes of a user.
const PRIO_USER: u64 = 2;
const IOPRIO_WHO_USER: u64 = 3;

/// The sockets that a child cannot open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    Every,
    /// Those of the family `AF_UNIX`.
    Local,
}

/// Calls that fail with the same error, always or if one of their rules matches.
type Calls = BTreeMap<i64, Vec<SeccompRule>>;

/// Checks that the kernel supports filters; the error is the reason.
pub(super) fn available() -> Result<(), String> {
    let architecture = std::env::consts::ARCH;
    if TargetArch::try_from(architecture).is_err() {
        return Err(format!(
            "system calls cannot be filtered on {architecture} processors"
        ));
    }
    match std::fs::read_to_string(ACTIONS) {
        Ok(actions) if actions.split_whitespace().any(|action| action == "errno") => Ok(()),
        _ => Err("this kernel does not support system call filters (seccomp)".to_owned()),
    }
}

/// Refuses these sockets, and `io_uring`, which could open them unseen.
///
/// As with all of these filters, calls of another architecture, which have other numbers, kill the
/// process.
pub(super) fn without_sockets(refused: Sockets) -> Result<Vec<BpfProgram>, ConfineError> {
    build(|| {
        let sockets = match refused {
            Sockets::Every => Vec::new(),
            // The family is the lower half of the first argument.
            Sockets::Local => vec![where_all(&[equals(
                0,
                libc::AF_UNIX.unsigned_abs().into(),
            )?])?],
        };
        Ok(vec![
            filter(Calls::from([(libc::SYS_socket, sockets)]), Errno::ACCESS)?,
            // To programs this looks like an old kernel, and they manage without.
            filter(always([libc::SYS_io_uring_setup]), Errno::NOSYS)?,
        ])
    })
}

/// Refuses programs in memory, which have no path for Landlock to check.
pub(super) fn without_memory_programs() -> Result<Vec<BpfProgram>, ConfineError> {
    build(|| {
        let executable = SeccompCondition::new(
            1,
            SeccompCmpArgLen::Dword,
            SeccompCmpOp::MaskedEq(MFD_NOEXEC_SEAL),
            0,
        )?;
        let mut calls = always([libc::SYS_memfd_secret]);
        calls.insert(libc::SYS_memfd_create, vec![where_all(&[executable])?]);
        Ok(vec![filter(calls, Errno::PERM)?])
    })
}

/// Refuses performance events, which are not limited to a namespace.
pub(super) fn without_performance_events() -> Result<Vec<BpfProgram>, ConfineError> {
    build(|| {
        Ok(vec![filter(
            always([libc::SYS_perf_event_open]),
            Errno::PERM,
        )?])
    })
}

/// Replaces namespaces where there are none: refuses access to limits, priorities and memory of other
/// processes, and all changes of modes, owners, times and attributes. A filter cannot see which process
/// an id belongs to, nor where a file is.
pub(super) fn instead_of_namespaces() -> Result<Vec<BpfProgram>, ConfineError> {
    build(|| {
        let mut calls = always([
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_process_mrelease,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
            libc::SYS_fchmod,
            libc::SYS_fchmodat,
            SYS_FCHMODAT2,
            libc::SYS_fchown,
            libc::SYS_fchownat,
            libc::SYS_utimensat,
            libc::SYS_setxattr,
            libc::SYS_lsetxattr,
            libc::SYS_fsetxattr,
            SYS_SETXATTRAT,
            libc::SYS_removexattr,
            libc::SYS_lremovexattr,
            libc::SYS_fremovexattr,
            SYS_REMOVEXATTRAT,
            SYS_FILE_SETATTR,
        ]);
        #[cfg(target_arch = "x86_64")]
        calls.extend(always([
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
            libc::SYS_utime,
            libc::SYS_utimes,
            libc::SYS_futimesat,
        ]));
        for call in [
            libc::SYS_prlimit64,
            libc::SYS_sched_setaffinity,
            libc::SYS_sched_setparam,
            libc::SYS_sched_setscheduler,
            libc::SYS_sched_setattr,
            libc::SYS_move_pages,
            libc::SYS_migrate_pages,
        ] {
            calls.insert(call, vec![where_all(&[is_not_zero(0)?])?]);
        }
        for (call, user) in [
            (libc::SYS_setpriority, PRIO_USER),
            (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
        ] {
            let rules = vec![
                where_all(&[is_not_zero(1)?])?,
                where_all(&[equals(0, user)?])?,
            ];
            calls.insert(call, rules);
        }
        let requests = ATTRIBUTE_REQUESTS.map(|request| where_all(&[equals(1, request)?]));
        calls.insert(
            libc::SYS_ioctl,
            requests.into_iter().collect::<Result<_, BackendError>>()?,
        );
        Ok(vec![filter(calls, Errno::PERM)?])
    })
}

fn build(
    make: impl FnOnce() -> Result<Vec<BpfProgram>, BackendError>,
) -> Result<Vec<BpfProgram>, ConfineError> {
    make().map_err(|error| ConfineError::CallFilter(io::Error::other(error)))
}

fn always<const COUNT: usize>(calls: [i64; COUNT]) -> Calls {
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

/// Compares the lower half of an argument, which is what the kernel uses.
fn equals(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn is_not_zero(argument: u8) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)
}

fn where_all(conditions: &[SeccompCondition]) -> Result<SeccompRule, BackendError> {
    SeccompRule::new(conditions.to_vec())
}

/// Makes `calls` fail with `errno`.
fn filter(calls: Calls, errno: Errno) -> Result<BpfProgram, BackendError> {
    let architecture = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut by_number = calls.clone();
    if architecture == TargetArch::x86_64 {
        let again = calls.into_iter();
        by_number.extend(again.map(|(call, rules)| (call | X32_BIT, rules)));
    }
    SeccompFilter::new(
        by_number,
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error().unsigned_abs()),
        architecture,
    )?
    .try_into()
}
