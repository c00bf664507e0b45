//! System calls that have no safe form: the only module of ours with `unsafe` code.
//!
//! All but [`lock_in_memory`] and [`probe`] are for a child between `fork` and `exec`. There only
//! what is async-signal-safe may run: no allocation, no lock, errors as bare numbers.
#![expect(
    unsafe_code,
    reason = "`fork`, `Command::pre_exec` and the rest of this module have no safe form"
)]

use std::ffi::CStr;
use std::os::fd::BorrowedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::sync::OnceLock;

use rustix::io::{Errno, Result};
use rustix::process::{Pid, Resource, WaitOptions, getrlimit, waitpid};

/// The first descriptor after the standard streams.
const FIRST_OTHER: libc::c_int = 3;

/// How many descriptors are looked at one by one where the kernel does not take them all at once.
const MAX_LOOKED_AT: libc::c_int = 65_536;

/// Which side of a `fork` this is.
pub(crate) enum Side {
    Parent { child: Pid },
    Child,
}

/// Makes `command` call `steps` in the child, before `exec`. The closure makes system calls on
/// memory and descriptors that were made ready before, and nothing else.
pub(crate) fn before_exec(
    command: &mut Command,
    steps: impl FnMut() -> std::io::Result<()> + Send + Sync + 'static,
) {
    // SAFETY: the callers of this module keep to the rule at its top, and the child has its own copy
    // of what the closure owns, so that nothing it changes or closes is seen by the parent.
    unsafe {
        command.pre_exec(steps);
    }
}

/// Only for a process with one thread, as the child of a `fork` is.
pub(crate) fn fork() -> Result<Side> {
    // SAFETY: there is no other thread whose locks could be held, and both sides keep to the rule at
    // the top of this module.
    let number = unsafe { libc::fork() };
    match Pid::from_raw(number) {
        Some(child) if number > 0 => Ok(Side::Parent { child }),
        None => Ok(Side::Child),
        Some(_) => Err(last_error()),
    }
}

/// Runs `attempt` in a forked process, which changes nothing about ours.
pub(crate) fn probe(attempt: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the child only makes the system calls of `attempt`, which keeps to the rule at the top
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
            // Ignoring SIGCHLD loses the answer.
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

/// Ends this process without running anything of it.
pub(crate) fn exit(code: i32) -> ! {
    // SAFETY: takes no memory, and nothing runs after it.
    unsafe { libc::_exit(code) }
}

/// Holds back every signal that can be, and notices children again if they were ignored.
pub(crate) fn hold_signals() {
    // SAFETY: the set is initialised before it is used; no handler is installed.
    unsafe {
        let mut every = std::mem::zeroed::<libc::sigset_t>();
        libc::sigfillset(&raw mut every);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const every, std::ptr::null_mut());
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
}

/// Undoes [`hold_signals`].
pub(crate) fn release_signals() {
    // SAFETY: as in `hold_signals`.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}

/// Closes all descriptors but `kept`, which become 0, 1 and so on in this order. Each must be 3 or
/// more: the standard streams of a child have been set by now.
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

/// One that [`keep_only`] or [`signal_descriptor`] has left open for good.
pub(crate) fn borrow(descriptor: libc::c_int) -> BorrowedFd<'static> {
    // SAFETY: the process of a supervisor closes none of the descriptors it has kept.
    unsafe { BorrowedFd::borrow_raw(descriptor) }
}

/// What zot itself inherited, or what a library opened carelessly, is not for the child.
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
    // Before Linux 5.9, for the flag 5.11, or filtered by a container.
    let limit = getrlimit(Resource::Nofile).current;
    let limit = limit.and_then(|limit| libc::c_int::try_from(limit).ok());
    for descriptor in first..limit.unwrap_or(MAX_LOOKED_AT).min(MAX_LOOKED_AT) {
        // SAFETY: as above; a number that is not a descriptor is refused.
        unsafe {
            match flags {
                0 => libc::close(descriptor),
                _ => libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC),
            };
        }
    }
}

/// A descriptor that can be read once for every `SIGCHLD` and `SIGTERM` that is held back.
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

/// The next signal of a descriptor from [`signal_descriptor`]; waits for it.
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

/// Sends `SIGTERM` to every process that we may signal and can name.
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

/// Makes every mount of this namespace read-only.
pub(crate) fn mount_all_read_only() -> Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_RDONLY,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path ends in NUL, and the structure has the size that is given.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            c"/".as_ptr(),
            libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(last_error()),
    }
}

/// Where the arguments of this process are in its memory, from their first byte on, and how long.
static ARGUMENTS: OnceLock<Option<(usize, usize)>> = OnceLock::new();

/// Looks for the arguments of this process, for [`rename`] in its children. May allocate.
pub(crate) fn find_arguments() {
    ARGUMENTS.get_or_init(|| {
        let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
        // The 48th and 49th field, of which the third is the first after the name.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(45);
        let start: usize = fields.next()?.parse().ok()?;
        let end: usize = fields.next()?.parse().ok()?;
        let length = end.checked_sub(start)?;
        (start > 0 && length > 0).then_some((start, length))
    });
}

/// Lists this process, a fork of ours, under another name: it is not what our arguments say.
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

/// Keeps the pages of `bytes` out of swap, where the system allows it. They stay locked when the
/// memory is used for something else.
pub(crate) fn lock_in_memory(bytes: &[u8]) {
    // SAFETY: contents and validity of the memory do not change; what cannot be locked is refused.
    unsafe {
        libc::mlock(bytes.as_ptr().cast(), bytes.len());
    }
}

fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
