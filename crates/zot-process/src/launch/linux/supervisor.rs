//! The process between us and a program: it ends all that the program started, wherever that went,
//! when the program is over and we say so, or when we are gone.
//!
//! It is a fork of ours that runs nothing but this module. Its only link to us is a socket, whose
//! end tells it that we died. A program in a PID namespace gets the namespace's first process as a
//! second one in between: whatever it starts ends with that.
//!
//! System calls only, as everywhere before `exec`.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpgid, kill_process, kill_process_group,
    wait as wait_any, waitid, waitpid,
};

use crate::group::protocol::{GONE, KILL, Report, TERMINATE};
use crate::raw;

/// How long to wait between two rounds of killing: a killed process takes a moment to be gone, and
/// what it had started is ours only then.
///
/// Limit: the next round begins.
const ROUND_TIME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// After so many rounds, some ten seconds, what is left cannot be killed: it is stuck in the kernel,
/// or belongs to another user.
///
/// Limit: processes that cannot be killed are left.
const MAX_KILL_ROUNDS: usize = 5_000;

/// What is read of the list of children at a time, some 500 of them.
///
/// Limit: further children are handled in the next round.
const CHILD_LIST_BYTES: usize = 4096;

/// The descriptors that are left, by [`raw::keep_only`].
const CONTROL: i32 = 0;
const REPORTS: i32 = 1;

/// Looks after `program`, which leads a group of its own.
pub(super) fn supervise_group(program: Pid, control: i32) -> ! {
    raw::keep_only([control]);
    settle_in();
    let mut group = Group {
        program,
        status: None,
        is_reaped: false,
    };
    let mut told = Told::Nothing;
    let mut rounds = 0;
    let Ok(signals) = raw::signal_descriptor() else {
        group.signal(Signal::KILL);
        raw::exit(1);
    };
    loop {
        let others = group.look_around();
        told.tell(borrowed(CONTROL), group.status, others);
        if group.status.is_some() && !others {
            // Now that its number is not needed any more.
            let _ = waitpid(Some(program), WaitOptions::NOHANG);
            raw::exit(0);
        }
        if rounds > 0 {
            group.signal(Signal::KILL);
            rounds += 1;
            if rounds > MAX_KILL_ROUNDS {
                raw::exit(1);
            }
        }
        if rounds > 0 {
            // No order is taken any more: the end of them would be read again and again.
            wait([borrowed(signals)], signals, Some(&ROUND_TIME));
            continue;
        }
        match next_order([borrowed(CONTROL), borrowed(signals)], signals) {
            Order::None => {}
            Order::Terminate => group.signal(Signal::TERM),
            Order::Kill => rounds = 1,
        }
    }
}

/// Looks after the first process of a namespace, which reports what becomes of the program in it.
pub(super) fn supervise_namespace(first: Pid, control: i32, reports: i32) -> ! {
    raw::keep_only([control, reports]);
    settle_in();
    let Ok(signals) = raw::signal_descriptor() else {
        let _ = kill_process(first, Signal::KILL);
        raw::exit(1);
    };
    let mut has_reported = false;
    loop {
        // Passed on before its end is noticed: it reports first.
        let is_over = !matches!(waitpid(Some(first), WaitOptions::NOHANG), Ok(None));
        has_reported |= pass_on_reports();
        if is_over {
            if !has_reported {
                let killed = Signal::KILL.as_raw();
                Told::Nothing.tell(borrowed(CONTROL), Some(killed), false);
            }
            raw::exit(0);
        }
        let watched = [borrowed(CONTROL), borrowed(signals), borrowed(REPORTS)];
        match next_order(watched, signals) {
            Order::None => {}
            Order::Terminate => {
                let _ = kill_process(first, Signal::TERM);
            }
            // All others in the namespace are killed by the kernel with the first.
            Order::Kill => {
                let _ = kill_process(first, Signal::KILL);
                let _ = waitpid(Some(first), WaitOptions::empty());
            }
        }
    }
}

/// What the first process of a namespace does: it adopts orphans, and reports.
pub(super) fn lead_namespace(program: Pid, reports: i32) -> ! {
    raw::keep_only([reports]);
    settle_in();
    let reports = borrowed(0);
    let Ok(signals) = raw::signal_descriptor() else {
        raw::exit(1);
    };
    let mut status = None;
    let mut told = Told::Nothing;
    loop {
        let others = loop {
            match wait_any(WaitOptions::NOHANG) {
                Ok(Some((child, ended))) if child == program => status = Some(ended.as_raw()),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        told.tell(reports, status, others);
        if status.is_some() && !others {
            raw::exit(0);
        }
        if raw::next_signal(signals) == Signal::TERM.as_raw() {
            raw::terminate_all();
        }
    }
}

fn settle_in() {
    raw::rename(c"zot-supervisor");
    // The program's directory must not be busy because of us.
    let _ = rustix::process::chdir(c"/");
}

fn borrowed(descriptor: i32) -> BorrowedFd<'static> {
    raw::borrow(descriptor)
}

/// What was reported of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Told {
    Nothing,
    /// It is over, and others are left.
    OthersLeft,
    Everything,
}

impl Told {
    fn tell(&mut self, to: BorrowedFd<'_>, status: Option<i32>, others: bool) {
        match (*self, status, others) {
            (Self::Nothing, Some(status), others) => {
                let report = Report { status, others };
                let _ = rustix::io::write(to, &report.to_bytes());
                *self = match others {
                    true => Self::OthersLeft,
                    false => Self::Everything,
                };
            }
            (Self::OthersLeft, _, false) => {
                let _ = rustix::io::write(to, &[GONE]);
                *self = Self::Everything;
            }
            _ => {}
        }
    }
}

/// A program, its group, and the processes that were adopted.
struct Group {
    program: Pid,
    /// How the program ended. It is not reaped before all others are: its number, which is that of
    /// the group, cannot be given to anyone else until then.
    status: Option<i32>,
    /// Unless the system has no list of children.
    is_reaped: bool,
}

impl Group {
    /// Reaps what has ended. Returns whether anything but the program is alive.
    fn look_around(&mut self) -> bool {
        let mut alive = false;
        let listed = for_each_child(|child| {
            if child != self.program {
                let ended = waitpid(Some(child), WaitOptions::NOHANG);
                alive |= matches!(ended, Ok(None));
            }
        });
        if listed.is_err() {
            return self.reap_all();
        }
        if self.status.is_none() {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
            if let Ok(Some(ended)) = waitid(WaitId::Pid(self.program), options) {
                let code = ended.exit_status().map(|code| code << 8);
                self.status = code.or(ended.terminating_signal());
            }
            // Those that the program left were adopted in the meantime.
            if self.status.is_some() {
                return self.look_around();
            }
        }
        // A list that did not fit is looked at again.
        alive || listed == Ok(Listing::Cut)
    }

    /// Where there is no list.
    fn reap_all(&mut self) -> bool {
        loop {
            match wait_any(WaitOptions::NOHANG) {
                Ok(Some((child, ended))) if child == self.program => {
                    self.status = Some(ended.as_raw());
                    self.is_reaped = true;
                }
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return self.status.is_some(),
                Err(_) => return false,
            }
        }
    }

    /// Signals the group, and our children outside of it. Their children become ours with their end.
    fn signal(&self, signal: Signal) {
        let _ = kill_process_group(self.program, signal);
        let _ = for_each_child(|child| {
            if getpgid(Some(child)) != Ok(self.program) {
                let _ = kill_process(child, signal);
            }
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    Whole,
    Cut,
}

/// Calls `visit` for every child, reaped or adopted, that is not reaped yet.
fn for_each_child(mut visit: impl FnMut(Pid)) -> rustix::io::Result<Listing> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let list = openat(CWD, c"/proc/thread-self/children", flags, Mode::empty())?;
    let mut text = [0; CHILD_LIST_BYTES];
    let mut length = 0;
    while let Some(free) = text.get_mut(length..)
        && !free.is_empty()
    {
        match rustix::io::read(&list, free)? {
            0 => break,
            count => length += count,
        }
    }
    drop(list);
    let mut number = 0_i32;
    for &byte in text.iter().take(length) {
        if byte.is_ascii_digit() {
            let digit = i32::from(byte - b'0');
            number = number.saturating_mul(10).saturating_add(digit);
        } else {
            Pid::from_raw(number).map(&mut visit);
            number = 0;
        }
    }
    match length < CHILD_LIST_BYTES {
        true => Ok(Listing::Whole),
        false => Ok(Listing::Cut),
    }
}

/// What we are told to do.
enum Order {
    None,
    Terminate,
    Kill,
}

/// Waits for one of `watched`, of which the first is where orders come from.
fn next_order<const COUNT: usize>(watched: [BorrowedFd<'_>; COUNT], signals: i32) -> Order {
    if !wait(watched, signals, None) {
        return Order::None;
    }
    let mut order = [0];
    match rustix::io::read(borrowed(CONTROL), &mut order) {
        Err(Errno::INTR | Errno::AGAIN) => Order::None,
        Ok(1) if order == [TERMINATE] => Order::Terminate,
        Ok(1) if order == [KILL] => Order::Kill,
        // End of input: the process that wanted the program is gone.
        _ => Order::Kill,
    }
}

/// Waits for one of `watched`; whether it was the first. Takes a signal that has come.
fn wait<const COUNT: usize>(
    watched: [BorrowedFd<'_>; COUNT],
    signals: i32,
    limit: Option<&Timespec>,
) -> bool {
    let mut polled = watched.map(|descriptor| PollFd::from_borrowed_fd(descriptor, PollFlags::IN));
    if poll(&mut polled, limit).is_err() {
        return false;
    }
    let is_ready = |index: usize| {
        let polled = polled.get(index);
        polled.is_some_and(|polled| !polled.revents().is_empty())
    };
    let signalled = COUNT.min(2) - 1;
    if is_ready(signalled) {
        // Only that there was one matters; nobody is asked to end by signalling us.
        raw::next_signal(signals);
    }
    signalled > 0 && is_ready(0)
}

/// Passes on what was reported; whether something was.
fn pass_on_reports() -> bool {
    let mut passed = false;
    let mut bytes = [0; 16];
    // The pipe does not block.
    while let Ok(count @ 1..) = rustix::io::read(borrowed(REPORTS), &mut bytes) {
        let _ = rustix::io::write(borrowed(CONTROL), &bytes[..count]);
        passed = true;
    }
    passed
}
