//! System call filters (seccomp).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

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

/// Requests that put characters into a terminal as if they were typed: `TIOCSTI`, `TIOCLINUX`.
const TYPING_REQUESTS: [u64; 2] = [0x5412, 0x541c];

/// The flags of `clone` and `unshare` that make namespaces.
const NAMESPACE_FLAGS: [libc::c_int; 8] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWTIME,
];

/// The system calls that a child is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Refused {
    /// What only the system's administrator needs, and what is not confined by anything else.
    pub(super) privileged: bool,
    /// What namespaces would have confined.
    pub(super) instead_of_namespaces: bool,
    /// Programs in memory, which have no path for Landlock to check.
    pub(super) memory_programs: bool,
    /// Sockets of the internet.
    pub(super) internet: bool,
    /// Unix sockets.
    pub(super) local_sockets: bool,
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

/// Returns the filters that refuse these calls. They are compiled once.
///
/// Calls of another architecture, which have other numbers, kill the process.
pub(super) fn filters(refused: Refused) -> Result<Arc<[BpfProgram]>, ConfineError> {
    static COMPILED: Mutex<Vec<(Refused, Arc<[BpfProgram]>)>> = Mutex::new(Vec::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, filters)) = compiled.iter().find(|(known, _)| *known == refused) {
        return Ok(Arc::clone(filters));
    }
    let filters: Arc<[BpfProgram]> = compile(refused)
        .map_err(|error| ConfineError::CallFilter(io::Error::other(error)))?
        .into();
    compiled.push((refused, Arc::clone(&filters)));
    Ok(filters)
}

fn compile(refused: Refused) -> Result<Vec<BpfProgram>, BackendError> {
    let mut filters = Vec::new();
    let mut denied = Calls::new();
    if refused.privileged {
        denied.extend(privileged()?);
    }
    if refused.memory_programs {
        denied.extend(memory_programs()?);
    }
    if refused.instead_of_namespaces {
        merge(&mut denied, instead_of_namespaces()?);
    }
    if !denied.is_empty() {
        filters.push(filter(denied, Errno::PERM)?);
    }
    if refused.privileged || refused.internet || refused.local_sockets {
        let sockets = sockets(refused)?;
        filters.push(filter(
            Calls::from([(libc::SYS_socket, sockets)]),
            Errno::ACCESS,
        )?);
        // To programs this looks like an old kernel, and they manage without: `io_uring` could open
        // sockets unseen, and the flags of `clone3` cannot be seen.
        let mut missing = always([
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ]);
        if refused.privileged {
            missing.extend(always([
                libc::SYS_clone3,
                libc::SYS_keyctl,
                libc::SYS_add_key,
                libc::SYS_request_key,
            ]));
        }
        filters.push(filter(missing, Errno::NOSYS)?);
    }
    Ok(filters)
}

/// Returns the rules for `socket`: which families are refused. The family is the lower half of the
/// first argument.
fn sockets(refused: Refused) -> Result<Vec<SeccompRule>, BackendError> {
    let family = |family: libc::c_int| u64::from(family.unsigned_abs());
    if refused.internet && refused.local_sockets {
        return Ok(Vec::new());
    }
    if !refused.privileged {
        // A program without other limits keeps the unusual families.
        let mut rules = Vec::new();
        if refused.internet {
            rules.push(where_all(&[differs(0, family(libc::AF_UNIX))?])?);
        }
        if refused.local_sockets {
            rules.push(where_all(&[equals(0, family(libc::AF_UNIX))?])?);
        }
        return Ok(rules);
    }
    let mut allowed = Vec::new();
    if !refused.internet {
        allowed.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]);
    }
    if !refused.local_sockets {
        allowed.push(libc::AF_UNIX);
    }
    let others = allowed
        .into_iter()
        .map(|allowed| differs(0, family(allowed)))
        .collect::<Result<Vec<_>, BackendError>>()?;
    Ok(vec![
        where_all(&others)?,
        // Of netlink, only what lists interfaces and addresses.
        where_all(&[equals(0, family(libc::AF_NETLINK))?, is_not_zero(2)?])?,
    ])
}

/// Calls that are not confined to files or namespaces, or that no confined program needs: a mistake in
/// the kernel's less used parts should not help it.
fn privileged() -> Result<Calls, BackendError> {
    let mut calls = always([
        libc::SYS_perf_event_open,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_setns,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_move_mount,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_open_tree,
        libc::SYS_mount_setattr,
        libc::SYS_open_by_handle_at,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_reboot,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_acct,
        libc::SYS_quotactl,
        libc::SYS_quotactl_fd,
        libc::SYS_settimeofday,
        libc::SYS_clock_settime,
        libc::SYS_sethostname,
        libc::SYS_setdomainname,
        libc::SYS_syslog,
        libc::SYS_vhangup,
    ]);
    #[cfg(target_arch = "x86_64")]
    calls.extend(always([libc::SYS_iopl, libc::SYS_ioperm]));
    for call in [libc::SYS_unshare, libc::SYS_clone] {
        let rules = NAMESPACE_FLAGS.map(|flag| where_all(&[has_bit(0, flag)?]));
        calls.insert(
            call,
            rules.into_iter().collect::<Result<_, BackendError>>()?,
        );
    }
    calls.insert(libc::SYS_ioctl, requests(&TYPING_REQUESTS)?);
    Ok(calls)
}

fn memory_programs() -> Result<Calls, BackendError> {
    let executable = SeccompCondition::new(
        1,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(MFD_NOEXEC_SEAL),
        0,
    )?;
    let mut calls = always([libc::SYS_memfd_secret]);
    calls.insert(libc::SYS_memfd_create, vec![where_all(&[executable])?]);
    Ok(calls)
}

/// Replaces namespaces where there are none: refuses access to limits, priorities and memory of other
/// processes, and all changes of modes, owners, times and attributes. A filter cannot see which process
/// an id belongs to, nor where a file is.
fn instead_of_namespaces() -> Result<Calls, BackendError> {
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
    calls.insert(libc::SYS_ioctl, requests(&ATTRIBUTE_REQUESTS)?);
    Ok(calls)
}

/// Adds rules to those that a call already has. A call without rules is always refused.
fn merge(calls: &mut Calls, more: Calls) {
    for (call, rules) in more {
        match calls.entry(call) {
            Entry::Vacant(free) => drop(free.insert(rules)),
            Entry::Occupied(mut known) if !rules.is_empty() && !known.get().is_empty() => {
                known.get_mut().extend(rules);
            }
            Entry::Occupied(mut known) => known.get_mut().clear(),
        }
    }
}

fn requests(requests: &[u64]) -> Result<Vec<SeccompRule>, BackendError> {
    let rules = requests
        .iter()
        .map(|&request| where_all(&[equals(1, request)?]));
    rules.collect()
}

fn always<const COUNT: usize>(calls: [i64; COUNT]) -> Calls {
    calls.into_iter().map(|call| (call, Vec::new())).collect()
}

/// Compares the lower half of an argument, which is what the kernel uses.
fn equals(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn differs(argument: u8, value: u64) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn has_bit(argument: u8, bit: libc::c_int) -> Result<SeccompCondition, BackendError> {
    let bit = u64::from(bit.cast_unsigned());
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Qword,
        SeccompCmpOp::MaskedEq(bit),
        bit,
    )
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
