//! Information about running processes from `/proc`. On systems other than Linux, figures are `None` and
//! process lists are empty.

use std::fs;
use std::time::{Duration, Instant};

/// Returns the CPU time of all threads from the scheduler, which is finer than the tick counter.
pub fn cpu_time(pid: u32) -> Option<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task")).ok()? {
        let path = thread.ok()?.path().join("schedstat");
        // A thread may end between the listing and the reading.
        let Ok(text) = fs::read_to_string(path) else {
            continue;
        };
        let first = text.split_whitespace().next()?;
        nanoseconds += first.parse::<u64>().ok()?;
    }
    Some(Duration::from_nanos(nanoseconds))
}

/// Returns the memory in use, in bytes.
pub fn resident_bytes(pid: u32) -> Option<u64> {
    status_kilobytes(pid, "VmRSS:")
}

/// Returns the peak memory use, in bytes.
pub fn peak_resident_bytes(pid: u32) -> Option<u64> {
    status_kilobytes(pid, "VmHWM:")
}

fn status_kilobytes(pid: u32, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

/// Returns all descendants except zombies.
pub fn descendants(pid: u32) -> Vec<u32> {
    let processes: Vec<Process> = running();
    let mut family = vec![pid];
    let mut next = 0;
    while let Some(&parent) = family.get(next) {
        let children = processes.iter().filter(|process| process.parent == parent);
        family.extend(children.map(|process| process.pid));
        next += 1;
    }
    family.split_off(1)
}

/// Returns whether the process exists and is not a zombie.
pub fn is_running(pid: u32) -> bool {
    read(pid).is_some()
}

/// Returns the processes whose command line contains `marker`.
pub fn with_command_line(marker: &str) -> Vec<u32> {
    let pids = running().into_iter().map(|process| process.pid);
    pids.filter(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| {
            let line = line.iter().map(|&b| if b == 0 { b' ' } else { b });
            let line: Vec<u8> = line.collect();
            String::from_utf8_lossy(&line).contains(marker)
        })
    })
    .collect()
}

struct Process {
    pid: u32,
    parent: u32,
}

fn running() -> Vec<Process> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(read)
        .collect()
}

fn read(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may hold anything, spaces and parentheses included.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z" && state != "X").then_some(Process { pid, parent })
}

/// How many processes [`orphans`] leaves behind.
pub const ORPHANS: usize = 15;

/// Returns a script that leaves processes behind in [`ORPHANS`] ways; each is a `sleep` of `marker`
/// seconds.
pub fn orphans(marker: &str) -> String {
    include_str!("orphans.sh").replace("MARKER", marker)
}

/// Counts the living processes of [`orphans`].
pub fn living_orphans(marker: &str) -> usize {
    let wanted = format!("sleep\0{marker}\0");
    let pids = running().into_iter().map(|process| process.pid);
    pids.filter(|pid| {
        fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted.as_bytes())
    })
    .count()
}

/// Waits until no living process belongs to `group`; fails after five seconds.
pub fn wait_until_group_is_gone(group: &str) {
    assert!(
        group.parse::<u32>().is_ok(),
        "not a process group: {group:?}"
    );
    let deadline = Instant::now() + Duration::from_secs(5);
    loop {
        let members = living_members(group);
        if members.is_empty() {
            return;
        }
        assert!(Instant::now() < deadline, "still alive: {members:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the `/proc/*/stat` lines of the processes of `group` that are not zombies.
fn living_members(group: &str) -> Vec<String> {
    std::fs::read_dir("/proc")
        .expect("read /proc")
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            let fields = stat.rsplit(')').next().unwrap_or_default();
            let mut fields = fields.split_whitespace();
            fields.next() != Some("Z") && fields.nth(1) == Some(group)
        })
        .collect()
}
