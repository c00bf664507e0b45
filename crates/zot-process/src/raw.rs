//! System calls without a safe form. With `environment.rs`, the only `unsafe` code of the workspace.
//!
//! All except [`lock_in_memory`] and [`probe`] are for a child between `fork` and `exec`, where only
//! async-signal-safe code may run: no allocation, no lock, errors without text.
#![expect(
    unsafe_code,
    reason = "`fork`, `Command::pre_exec` and the rest of this module have no safe form"
)]

use std::ffi::CStr;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use rustix::io::{Errno, Result};
use rustix::mount::{MoveMountFlags, OpenTreeFlags, move_mount, open_tree};
use rustix::process::{Pid, Resource, WaitOptions, getrlimit, waitpid};

/// The first descriptor after the standard streams.
const FIRST_OTHER: libc::c_int = 3;

/// How many descriptors are closed one by one if the kernel cannot close a range.
const MAX_CLOSED_ONE_BY_ONE: libc::c_int = 65_536;

/// Begins in another control group. The constant of the C library's crate is too narrow.
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// The side of a `fork`.
pub(crate) enum Side {
    Parent { child: Pid },
    Child,
}

/// Makes `command` call `steps` in the child, before `exec`. The closure only makes system calls, on
/// memory and descriptors that were prepared before.
pub(crate) fn before_exec(
    command: &mut Command,
    steps: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers follow the rule at the top of this module, and the child has its own copy of
    // what the closure owns, so that its changes do not affect the parent.
    unsafe {
        command.pre_exec(steps);
    }
}

/// Forks. Only for a process with one thread, such as the child of a `fork`.
pub(crate) fn fork() -> Result<Side> {
    // SAFETY: there is no other thread whose locks could be held, and both sides follow the rule at
    // the top of this module.
    let number = unsafe { libc::fork() };
    match Pid::from_raw(number) {
        Some(child) if number > 0 => Ok(Side::Parent { child }),
        None => Ok(Side::Child),
        Some(_) => Err(last_error()),
    }
}

/// Forks like [`fork`], with the child in the control group whose directory is open at `group`.
pub(crate) fn fork_into(group: libc::c_int) -> Result<Side> {
    // SAFETY: all zero is a valid value, which means that nothing is shared.
    let mut arguments = unsafe { std::mem::zeroed::<libc::clone_args>() };
    arguments.flags = CLONE_INTO_CGROUP;
    arguments.exit_signal = u64::from(libc::SIGCHLD.unsigned_abs());
    arguments.cgroup = u64::from(group.unsigned_abs());
    // SAFETY: as in `fork`; the structure has the size that is given.
    let number = unsafe {
        libc::syscall(
            libc::SYS_clone3,
            &raw const arguments,
            size_of::<libc::clone_args>(),
        )
    };
    match i32::try_from(number).ok().and_then(Pid::from_raw) {
        Some(child) if number > 0 => Ok(Side::Parent { child }),
        None => Ok(Side::Child),
        // Before Linux 5.7, or where filters cannot look into the call.
        Some(_) => fork(),
    }
}

/// Runs `attempt` in a forked process, without effects on this one.
pub(crate) fn probe(attempt: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the child only makes the system calls of `attempt`, which follows the rule at the top
    // of this module, and never returns.
    let number = unsafe { libc::fork() };
    let Some(child) = Pid::from_raw(number) else {
        exit(attempt().err().map_or(0, Errno::raw_os_error));
    };
    if number < 0 {
        return Err(last_error());
    }
    loop {
        match waitpid(Some(child), WaitOptions::empty()) {
            Err(Errno::INTR) => {}
            // The result is lost if SIGCHLD is ignored.
            Err(error) => return Err(error),
            Ok(ended) => {
                let code = ended.and_then(|(_, status)| status.exit_status());
                return match code {
                    Some(0) => Ok(()),
                    Some(code) => Err(Errno::from_raw_os_error(code)),
                    None => Err(Errno::PERM),
                };
            }
        }
    }
}

/// Ends this process without running destructors or handlers.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes no memory, and nothing runs after it.
    unsafe { libc::_exit(code) }
}

/// Blocks every signal that can be blocked, and stops ignoring `SIGCHLD`.
pub(crate) fn block_signals() {
    // SAFETY: the set is initialised before it is used; no handler is installed.
    unsafe {
        let mut every = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut every);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const every, std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// Undoes [`block_signals`].
pub(crate) fn unblock_signals() {
    // SAFETY: as in `block_signals`.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Closes all descriptors except `kept`, which become 0, 1 and so on in this order. Each must be 3 or
/// more, because the standard streams of the child are set already.
pub(crate) fn keep_only<const COUNT: usize>(kept: [libc::c_int; COUNT]) {
    let mut next = 0;
    for descriptor in kept {
        // SAFETY: the process owns all its descriptors, and uses none but these from here on.
        unsafe {
            libc::dup2(descriptor, next);
        }
        next += 1;
    }
    close_from(next, 0);
}

/// Borrows a descriptor that [`keep_only`] or [`signal_descriptor`] leaves open for good.
pub(crate) fn borrow(descriptor: libc::c_int) -> BorrowedFd<'static> {
    // SAFETY: the process of a supervisor closes none of the descriptors it has kept.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// Keeps descriptors that zot inherited, or that a library opened carelessly, from the child.
pub(crate) fn close_others_on_exec() {
    close_from(FIRST_OTHER, libc::CLOSE_RANGE_CLOEXEC);
}

fn close_from(first: libc::c_int, flags: libc::c_uint) {
    // SAFETY: descriptors are closed, or marked, in a process that is about to call exec or that
    // has taken those it needs out of the range.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, flags) };
    if done == 0 {
        return;
    }
    // Linux before 5.9 (before 5.11 for the flag), or blocked by a container.
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.and_then(|limit| libc::c_int::try_from(limit).ok());
    for descriptor in first
        ..limit
            .unwrap_or(MAX_CLOSED_ONE_BY_ONE)
            .min(MAX_CLOSED_ONE_BY_ONE)
    {
        // SAFETY: as above; a number that is not a descriptor is refused.
        unsafe {
            match flags {
                0 => libc::close(descriptor),
                _ => libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC),
            };
        }
    }
}

/// Creates a descriptor that yields every blocked `SIGCHLD` and `SIGTERM`.
pub(crate) fn signal_descriptor() -> Result<libc::c_int> {
    // SAFETY: the set is initialised before it is used.
    let descriptor = unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC)
    };
    match descriptor {
        -1 => Err(last_error()),
        descriptor => Ok(descriptor),
    }
}

/// Waits for the next signal of a descriptor from [`signal_descriptor`].
pub(crate) fn next_signal(descriptor: libc::c_int) -> libc::c_int {
    // SAFETY: the kernel writes one whole structure, or none and says so.
    unsafe {
        let mut taken = std::mem::zeroed::<libc::signalfd_siginfo>();
        let size = size_of::<libc::signalfd_siginfo>();
        let count = libc::read(descriptor, (&raw mut taken).cast(), size);
        match usize::try_from(count) == Ok(size) {
            true => libc::c_int::try_from(taken.ssi_signo).unwrap_or(0),
            false => 0,
        }
    }
}

/// Sends `SIGTERM` to every process that we can name and may signal.
pub(crate) fn terminate_all() {
    // SAFETY: no memory is involved. Only called by the first process of a namespace.
    unsafe {
        libc::kill(-1, libc::SIGTERM);
    }
}

pub(crate) fn unshare(namespaces: rustix::thread::UnshareFlags) -> Result<()> {
    // SAFETY: the table of descriptors is not among what is unshared.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }
}

/// Copies the mount of `target` and those below it, attached nowhere.
pub(crate) fn copy_mounts(target: &OwnedFd) -> Result<OwnedFd> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    open_tree(target, c"", flags)
}

/// Mounts a copy on `target`.
pub(crate) fn attach(copy: &OwnedFd, target: &OwnedFd) -> Result<()> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(copy, c"", target, c"", flags)
}

/// Sets attributes of a mount and of all mounts below it.
pub(crate) fn restrict_mounts(mount: &OwnedFd, attributes: u64) -> Result<()> {
    set_mount_attributes(mount, attributes, libc::AT_RECURSIVE)
}

/// Sets attributes of one mount.
pub(crate) fn restrict_mount(mount: &OwnedFd, attributes: u64) -> Result<()> {
    set_mount_attributes(mount, attributes, 0)
}

fn set_mount_attributes(mount: &OwnedFd, attributes: u64, flags: libc::c_int) -> Result<()> {
    let attributes = libc::mount_attr {
        attr_set: attributes,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends in NUL, and the structure has the size that is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            flags | libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// Applies a filter of system calls to this process, for good, and to those it starts.
pub(crate) fn filter_calls(program: &[libc::sock_filter]) -> Result<()> {
    let length = libc::c_ushort::try_from(program.len()).map_err(|_| Errno::TOOBIG)?;
    let program = libc::sock_fprog {
        len: length,
        filter: program.as_ptr().cast_mut(),
    };
    rustix::thread::set_no_new_privs(true)?;
    // SAFETY: the kernel reads as many instructions as there are, and changes nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            0,
            &raw const program,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// Starts the loopback interface of this network namespace.
pub(crate) fn start_loopback() -> Result<()> {
    // SAFETY: the structure is initialised, and the kernel reads no more than its size.
    let done = unsafe {
        let socket = libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(last_error());
        }
        let mut request = std::mem::zeroed::<libc::ifreq>();
        for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
            *to = libc::c_char::from_ne_bytes([*from]);
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let done = libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &raw const request);
        libc::close(socket);
        done
    };
    match done {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// The address and length of the arguments of this process in its memory.
static ARGUMENTS: OnceLock<Option<(usize, usize)>> = OnceLock::new();

/// Finds the arguments of this process, for [`rename`] in its children. May allocate.
pub(crate) fn find_arguments() {
    ARGUMENTS.get_or_init(|| {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The 48th and 49th field; the third is the first one after the name.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(45);
        let start: usize = fields.next()?.parse().ok()?;
        let end: usize = fields.next()?.parse().ok()?;
        let length = end.checked_sub(start)?;
        (start > 0 && length > 0).then_some((start, length))
    });
}

/// Changes the name under which this fork is listed.
pub(crate) fn rename(name: &CStr) {
    let _ = rustix::thread::set_name(name);
    let Some(&Some((start, length))) = ARGUMENTS.get() else {
        return;
    };
    let arguments = std::ptr::with_exposed_provenance_mut::<u8>(start);
    let name = name.to_bytes();
    // SAFETY: the kernel has put the arguments there, in the writable memory of the process's first
    // stack, and this process does not read them.
    unsafe {
        arguments.write_bytes(0, length);
        arguments.copy_from_nonoverlapping(name.as_ptr(), name.len().min(length - 1));
    }
}

/// Keeps the pages of `bytes` out of swap, if the system allows it. They stay locked after the memory
/// is reused.
pub(crate) fn lock_in_memory(bytes: &[u8]) {
    // SAFETY: contents and validity of the memory do not change; what cannot be locked is refused.
    unsafe {
        libc::mlock(bytes.as_ptr().cast(), bytes.len());
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
