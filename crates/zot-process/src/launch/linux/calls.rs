//! System call filters (seccomp).

mod program;

use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rustix::io::Errno;

pub(crate) use program::Program;
use program::{Case, Condition, Refusal, Table, Test};

/// Where the kernel lists the actions of filters.
const ACTIONS: &str = "/proc/sys/kernel/seccomp/actions_avail";

/// Numbers that are the same on every architecture and missing from some C library headers.
const SYS_FCHMODAT2: i64 = 452;
const SYS_SETXATTRAT: i64 = 463;
const SYS_REMOVEXATTRAT: i64 = 466;
const SYS_FILE_SETATTR: i64 = 469;

/// Creates a file in memory that can never be executed.
const MFD_NOEXEC_SEAL: u32 = 8;

/// Requests that change attributes of files: `FS_IOC_SETFLAGS` in both widths, `FS_IOC_FSSETXATTR`.
const ATTRIBUTE_REQUESTS: [u32; 3] = [0x4008_6602, 0x4004_6602, 0x401c_5820];

/// The arguments of `setpriority` and `ioprio_set` that mean all processes of a user.
const PRIO_USER: u32 = 2;
const IOPRIO_WHO_USER: u32 = 3;

/// Requests that put characters into a terminal as if they were typed: `TIOCSTI`, `TIOCLINUX`.
const TYPING_REQUESTS: [u32; 2] = [0x5412, 0x541c];

/// The bits of a mode that give a program the rights of its owner or group.
const SET_ID_MODES: u32 = libc::S_ISUID | libc::S_ISGID;

/// The flags of `clone` and `unshare` that make namespaces.
const NAMESPACE_FLAGS: libc::c_int = libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET;

/// The system calls that a child is refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Refused {
    /// What nothing else confines: namespaces, keys and the log of the kernel, measurements, typing into
    /// terminals.
    pub(super) unconfined: bool,
    /// What needs privileges, for a child that could not be deprived of them.
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

/// Checks that the kernel supports filters; the error is the reason.
pub(super) fn available() -> Result<(), String> {
    static RESULT: OnceLock<Result<(), String>> = OnceLock::new();
    RESULT.get_or_init(probe).clone()
}

fn probe() -> Result<(), String> {
    if program::architecture().is_none() {
        return Err(format!(
            "system calls cannot be filtered on {} processors",
            std::env::consts::ARCH
        ));
    }
    match std::fs::read_to_string(ACTIONS) {
        Ok(actions) if actions.split_whitespace().any(|action| action == "errno") => Ok(()),
        _ => Err("this kernel does not support system call filters (seccomp)".to_owned()),
    }
}

/// Returns the filter that refuses these calls, if there are any. It is compiled once.
pub(super) fn filter(refused: Refused) -> io::Result<Option<Arc<Program>>> {
    static COMPILED: Mutex<Vec<(Refused, Arc<Program>)>> = Mutex::new(Vec::new());
    if refused == Refused::default() {
        return Ok(None);
    }
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, filter)) = compiled.iter().find(|(known, _)| *known == refused) {
        return Ok(Some(Arc::clone(filter)));
    }
    let architecture = program::architecture().ok_or(io::ErrorKind::Unsupported)?;
    let filter = Arc::new(program::compile(&table(refused), architecture));
    compiled.push((refused, Arc::clone(&filter)));
    Ok(Some(filter))
}

fn table(refused: Refused) -> Table {
    let mut table = Table::new();
    let denied = Errno::PERM;
    if refused.privileged {
        refuse(&mut table, denied, &PRIVILEGED);
        #[cfg(target_arch = "x86_64")]
        refuse(&mut table, denied, &[libc::SYS_iopl, libc::SYS_ioperm]);
    }
    if refused.unconfined {
        let calls = [
            libc::SYS_perf_event_open,
            libc::SYS_bpf,
            libc::SYS_userfaultfd,
            libc::SYS_fanotify_init,
            // Some systems let everybody read the kernel's log.
            libc::SYS_syslog,
        ];
        refuse(&mut table, denied, &calls);
        let makes_namespaces = vec![has_bits(0, NAMESPACE_FLAGS.cast_unsigned())];
        for call in [libc::SYS_unshare, libc::SYS_clone] {
            refuse_if(&mut table, denied, call, vec![makes_namespaces.clone()]);
        }
        refuse_if(
            &mut table,
            denied,
            libc::SYS_ioctl,
            requests(&TYPING_REQUESTS),
        );
        // It would stop others from writing to a file that can only be read here.
        let lease = vec![equals(1, libc::F_SETLEASE.unsigned_abs())];
        refuse_if(&mut table, denied, libc::SYS_fcntl, vec![lease]);
        refuse_set_id_programs(&mut table);
    }
    if refused.memory_programs {
        refuse(&mut table, denied, &[libc::SYS_memfd_secret]);
        let executable = vec![Condition {
            argument: 1,
            test: Test::LacksBits(MFD_NOEXEC_SEAL),
        }];
        refuse_if(&mut table, denied, libc::SYS_memfd_create, vec![executable]);
    }
    if refused.instead_of_namespaces {
        refuse_what_namespaces_confine(&mut table);
    }
    let sockets = sockets(refused);
    if refused.internet && refused.local_sockets {
        refuse(&mut table, Errno::ACCESS, &[libc::SYS_socket]);
    } else if !sockets.is_empty() {
        refuse_if(&mut table, Errno::ACCESS, libc::SYS_socket, sockets);
    }
    if refused.local_sockets {
        // Half of such a pair can send to any address; `SOCK_RAW`, which has the bit, means the same in
        // this family.
        let datagrams = vec![has_bits(1, libc::SOCK_DGRAM.cast_unsigned())];
        let call = libc::SYS_socketpair;
        refuse_if(&mut table, Errno::ACCESS, call, vec![datagrams]);
    }
    // To programs this looks like an old kernel, and they manage without: `io_uring` could open
    // sockets unseen, and the flags of `clone3` cannot be seen.
    refuse(
        &mut table,
        Errno::NOSYS,
        &[
            libc::SYS_io_uring_setup,
            libc::SYS_io_uring_enter,
            libc::SYS_io_uring_register,
        ],
    );
    if refused.unconfined {
        let unseen = [
            libc::SYS_clone3,
            libc::SYS_keyctl,
            libc::SYS_add_key,
            libc::SYS_request_key,
        ];
        refuse(&mut table, Errno::NOSYS, &unseen);
    }
    table
}

/// Returns when `socket` is refused, by the family of the socket.
fn sockets(refused: Refused) -> Vec<Case> {
    let family = |family: libc::c_int| family.unsigned_abs();
    if !refused.unconfined {
        // A program without other limits keeps the unusual families.
        return match (refused.internet, refused.local_sockets) {
            (true, false) => vec![vec![differs(0, family(libc::AF_UNIX))]],
            (false, true) => vec![vec![equals(0, family(libc::AF_UNIX))]],
            _ => Vec::new(),
        };
    }
    let mut others = Vec::new();
    if !refused.internet {
        let allowed = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        others.extend(allowed.map(|allowed| differs(0, family(allowed))));
    }
    if !refused.local_sockets {
        others.push(differs(0, family(libc::AF_UNIX)));
    }
    vec![
        others,
        // Of netlink, only what lists interfaces and addresses.
        vec![equals(0, family(libc::AF_NETLINK)), differs(2, 0)],
    ]
}

/// Calls that the kernel refuses to everybody without privileges.
const PRIVILEGED: [i64; 29] = [
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
];

/// Refuses access to limits, priorities and memory of other processes, and all changes of modes, owners,
/// times and attributes. A filter cannot see which process an id belongs to, nor where a file is.
fn refuse_what_namespaces_confine(table: &mut Table) {
    let denied = Errno::PERM;
    refuse(
        table,
        denied,
        &[
            libc::SYS_process_vm_readv,
            libc::SYS_process_vm_writev,
            libc::SYS_process_madvise,
            libc::SYS_process_mrelease,
            libc::SYS_pidfd_getfd,
            libc::SYS_kcmp,
            // Landlock covers everything else about these queues.
            libc::SYS_mq_unlink,
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
        ],
    );
    #[cfg(target_arch = "x86_64")]
    refuse(
        table,
        denied,
        &[
            libc::SYS_chmod,
            libc::SYS_chown,
            libc::SYS_lchown,
            libc::SYS_utime,
            libc::SYS_utimes,
            libc::SYS_futimesat,
        ],
    );
    for call in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setaffinity,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setattr,
        libc::SYS_move_pages,
        libc::SYS_migrate_pages,
    ] {
        refuse_if(table, denied, call, vec![vec![differs(0, 0)]]);
    }
    for (call, user) in [
        (libc::SYS_setpriority, PRIO_USER),
        (libc::SYS_ioprio_set, IOPRIO_WHO_USER),
    ] {
        let cases = vec![vec![differs(1, 0)], vec![equals(0, user)]];
        refuse_if(table, denied, call, cases);
    }
    refuse_if(
        table,
        denied,
        libc::SYS_ioctl,
        requests(&ATTRIBUTE_REQUESTS),
    );
}

/// Refuses to make programs that act with the rights of their owner or group: outside of the sandbox, others
/// could start them. The mode is an argument of each call, at this position.
fn refuse_set_id_programs(table: &mut Table) {
    let changes = [
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (SYS_FCHMODAT2, 2),
        (libc::SYS_mknodat, 2),
    ];
    #[cfg(target_arch = "x86_64")]
    let changes = changes.into_iter().chain([
        (libc::SYS_chmod, 1),
        (libc::SYS_creat, 1),
        (libc::SYS_mknod, 1),
    ]);
    for (call, mode) in changes {
        let cases = vec![vec![has_bits(mode, SET_ID_MODES)]];
        refuse_if(table, Errno::PERM, call, cases);
    }
    // Without a file to be created, nothing says what is in place of the mode.
    let created =
        (libc::O_CREAT | libc::O_TMPFILE).unsigned_abs() & !libc::O_DIRECTORY.unsigned_abs();
    let opens = [(libc::SYS_openat, 2, 3)];
    #[cfg(target_arch = "x86_64")]
    let opens = opens.into_iter().chain([(libc::SYS_open, 1, 2)]);
    for (call, flags, mode) in opens {
        let case = vec![has_bits(flags, created), has_bits(mode, SET_ID_MODES)];
        refuse_if(table, Errno::PERM, call, vec![case]);
    }
    // Its mode is in memory, where a filter cannot look.
    refuse(table, Errno::NOSYS, &[libc::SYS_openat2]);
}

fn refuse(table: &mut Table, error: Errno, calls: &[i64]) {
    for call in calls {
        let cases = Vec::new();
        table.insert(number(*call), Refusal { error, cases });
    }
}

/// Adds cases to those that a call has already.
fn refuse_if(table: &mut Table, error: Errno, call: i64, cases: Vec<Case>) {
    let known = table.entry(number(call)).or_insert(Refusal {
        error,
        cases: Vec::new(),
    });
    known.cases.extend(cases);
}

/// Numbers of calls are small and never negative.
fn number(call: i64) -> u32 {
    call as u32
}

fn requests(requests: &[u32]) -> Vec<Case> {
    requests
        .iter()
        .map(|&request| vec![equals(1, request)])
        .collect()
}

fn equals(argument: u8, value: u32) -> Condition {
    let test = Test::Equals(value);
    Condition { argument, test }
}

fn differs(argument: u8, value: u32) -> Condition {
    let test = Test::Differs(value);
    Condition { argument, test }
}

fn has_bits(argument: u8, bits: u32) -> Condition {
    let test = Test::HasBits(bits);
    Condition { argument, test }
}

#[cfg(test)]
mod tests;
