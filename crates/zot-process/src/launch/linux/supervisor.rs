//! The process between us and a program. It ends every process that the program started, when we ask
//! for it or when we are gone.
//!
//! It is a fork of this process that runs nothing but this module. A socket connects it to us; the end
//! of that connection means that we died. For a program in a PID namespace, the namespace's first
//! process is a second supervisor in between: the kernel ends everything in the namespace with it.
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

use super::control_group::ControlGroup;
use super::sweep::Sweep;
use crate::group::protocol::{GONE, KILL, Report, TERMINATE};
use crate::raw;

/// The wait between two rounds of killing: a killed process takes a moment to disappear, and only then
/// are its children ours.
///
/// Limit: the next round begins.
const ROUND_TIME: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 2_000_000,
};

/// The number of rounds, about ten seconds, after which the remaining processes cannot be killed: they
/// are stuck in the kernel, or belong to another user.
///
/// Limit: processes that cannot be killed are left.
const MAX_KILL_ROUNDS: usize = 5_000;

/// The number of rounds, about a second, after which a control group stays behind, empty.
///
/// Limit: the next zot removes the group.
const MAX_REMOVAL_ROUNDS: usize = 500;

/// The size of the list of children that is read at a time, about 500 children.
///
/// Limit: further children are handled in the next round.
const CHILD_LIST_BYTES: usize = 4096;

/// The descriptors that [`raw::keep_only`] leaves.
const CONTROL: i32 = 0;
const REPORTS: i32 = 1;
const GROUP_KILL: i32 = 1;

/// Supervises `program`, which leads its own group.
pub(super) fn supervise_group(
    program: Pid,
    control: i32,
    sweep: &Sweep,
    control_group: Option<&ControlGroup>,
) -> ! {
    let kill = control_group.map(ControlGroup::kill_descriptor);
    // Without a group, a second copy of the connection takes its place.
    raw::keep_only([control, kill.unwrap_or(control)]);
    prepare_process();
    let mut group = Group {
        program,
        status: None,
        is_reaped: false,
    };
    let mut reported = Reported::Nothing;
    let mut rounds = 0;
    let Ok(signals) = raw::signal_descriptor() else {
        group.signal(Signal::KILL);
        raw::exit(1);
    };
    loop {
        let others = group.reap();
        reported.send(borrowed(CONTROL), group.status, others);
        if group.status.is_some() && !others {
            // Its process id is not needed any more.
            let _ = waitpid(Some(program), WaitOptions::NOHANG);
            sweep.carry_out();
            if let Some(group) = control_group {
                remove(group);
            }
            raw::exit(0);
        }
        if rounds > 0 {
            if kill.is_some() {
                let _ = rustix::io::write(borrowed(GROUP_KILL), b"1");
            }
            group.signal(Signal::KILL);
            rounds += 1;
            if rounds > MAX_KILL_ROUNDS {
                sweep.carry_out();
                raw::exit(1);
            }
        }
        if rounds > 0 {
            // Orders are not read any more: the end of the connection would wake us all the time.
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

/// Supervises the first process of a namespace, which reports how the program in it ends.
pub(super) fn supervise_namespace(first: Pid, control: i32, reports: i32, sweep: &Sweep) -> ! {
    raw::keep_only([control, reports]);
    prepare_process();
    let Ok(signals) = raw::signal_descriptor() else {
        let _ = kill_process(first, Signal::KILL);
        raw::exit(1);
    };
    let mut has_reported = false;
    let mut is_reporting = true;
    loop {
        // Its report is forwarded before its end counts.
        let is_over = !matches!(waitpid(Some(first), WaitOptions::NOHANG), Ok(None));
        if is_reporting {
            let forwarded = forward_reports();
            has_reported |= forwarded.count > 0;
            is_reporting = !forwarded.is_closed;
        }
        if is_over {
            sweep.carry_out();
            if !has_reported {
                let killed = Signal::KILL.as_raw();
                Reported::Nothing.send(borrowed(CONTROL), Some(killed), false);
            }
            raw::exit(0);
        }
        let order = match is_reporting {
            true => next_order(
                [borrowed(CONTROL), borrowed(signals), borrowed(REPORTS)],
                signals,
            ),
            // A pipe that was closed would wake us all the time, while the kernel still takes the
            // namespace apart.
            false => next_order([borrowed(CONTROL), borrowed(signals)], signals),
        };
        match order {
            Order::None => {}
            Order::Terminate => {
                let _ = kill_process(first, Signal::TERM);
            }
            // The kernel kills all other processes of the namespace with the first.
            Order::Kill => {
                let _ = kill_process(first, Signal::KILL);
                let _ = waitpid(Some(first), WaitOptions::empty());
            }
        }
    }
}

/// Runs the first process of a namespace: adopts orphans, and reports.
pub(super) fn lead_namespace(program: Pid, reports: i32) -> ! {
    raw::keep_only([reports]);
    prepare_process();
    let reports = borrowed(0);
    let Ok(signals) = raw::signal_descriptor() else {
        raw::exit(1);
    };
    let mut status = None;
    let mut reported = Reported::Nothing;
    loop {
        let others = loop {
            match wait_any(WaitOptions::NOHANG) {
                Ok(Some((child, ended))) if child == program => status = Some(ended.as_raw()),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => break true,
                Err(_) => break false,
            }
        };
        reported.send(reports, status, others);
        if status.is_some() && !others {
            raw::exit(0);
        }
        if raw::next_signal(signals) == Signal::TERM.as_raw() {
            raw::terminate_all();
        }
    }
}

/// Removes a group whose processes were all reaped. The kernel may need a moment more to let go of them.
fn remove(group: &ControlGroup) {
    for _ in 0..MAX_REMOVAL_ROUNDS {
        if group.remove() != Err(Errno::BUSY) {
            return;
        }
        let _ = poll(&mut [], Some(&ROUND_TIME));
    }
}

fn prepare_process() {
    raw::rename(c"zot-supervisor");
    // Keeps the program's directory from being busy because of us.
    let _ = rustix::process::chdir(c"/");
}

fn borrowed(descriptor: i32) -> BorrowedFd<'static> {
    raw::borrow(descriptor)
}

/// What was reported about a program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reported {
    Nothing,
    /// Its exit, with other processes still running.
    OthersLeft,
    Everything,
}

impl Reported {
    fn send(&mut self, to: BorrowedFd<'_>, status: Option<i32>, others: bool) {
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
    /// How the program ended. It is reaped last, so that its process id, which is also the id of the
    /// group, cannot be reused before.
    status: Option<i32>,
    /// Set only on systems without a list of children.
    is_reaped: bool,
}

impl Group {
    /// Reaps ended processes. Returns whether a process other than the program is alive.
    fn reap(&mut self) -> bool {
        loop {
            let (mut alive, mut has_ended) = (false, false);
            let listed = for_each_child(|child| {
                if child != self.program {
                    let ended = waitpid(Some(child), WaitOptions::NOHANG);
                    alive |= matches!(ended, Ok(None));
                    has_ended |= matches!(ended, Ok(Some(_)));
                }
            });
            let Ok(listed) = listed else {
                return self.reap_all();
            };
            if self.status.is_none() {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
                if let Ok(Some(ended)) = waitid(WaitId::Pid(self.program), options) {
                    let code = ended.exit_status().map(|code| code << 8);
                    self.status = code.or(ended.terminating_signal());
                    has_ended = true;
                }
            }
            // A process that ended after the list was made may have left children that are not in it. They have
            // been adopted by now, so another look finds them.
            if alive || !has_ended {
                // A list that did not fit is read again.
                return alive || listed == Listing::Cut;
            }
        }
    }

    /// Reaps without a list of children.
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

    /// Signals the group and our children outside it. Their children become ours when they end.
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

/// Calls `visit` for every own or adopted child that is not reaped yet.
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

/// A request of the controlling process.
enum Order {
    None,
    Terminate,
    Kill,
}

/// Waits for one of `watched`, the first of which delivers orders.
fn next_order<const COUNT: usize>(watched: [BorrowedFd<'_>; COUNT], signals: i32) -> Order {
    if !wait(watched, signals, None) {
        return Order::None;
    }
    let mut order = [0];
    match rustix::io::read(borrowed(CONTROL), &mut order) {
        Err(Errno::INTR | Errno::AGAIN) => Order::None,
        Ok(1) if order == [TERMINATE] => Order::Terminate,
        Ok(1) if order == [KILL] => Order::Kill,
        // End of input: the controlling process is gone.
        _ => Order::Kill,
    }
}

/// Waits for one of `watched` and returns whether it was the first. Consumes a pending signal.
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
        // Which signal it was does not matter.
        raw::next_signal(signals);
    }
    signalled > 0 && is_ready(0)
}

/// What came through the pipe.
struct Forwarded {
    count: usize,
    is_closed: bool,
}

/// Forwards the reports that have arrived.
fn forward_reports() -> Forwarded {
    let mut forwarded = Forwarded {
        count: 0,
        is_closed: false,
    };
    let mut bytes = [0; 16];
    loop {
        // The pipe does not block.
        match rustix::io::read(borrowed(REPORTS), &mut bytes) {
            Ok(0) => {
                forwarded.is_closed = true;
                return forwarded;
            }
            Ok(count) => {
                let _ = rustix::io::write(borrowed(CONTROL), &bytes[..count]);
                forwarded.count += 1;
            }
            Err(Errno::INTR) => {}
            Err(_) => return forwarded,
        }
    }
}
