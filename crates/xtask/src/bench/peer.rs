//! Drives a program through its pipes and measures it.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use testkit::process;

const DONE: &[u8] = b"{\"type\":\"done\"}\n";

const READY: &[u8] = b"{\"type\":\"ready\"}\n";

/// Larger than a pipe, so that one read takes everything.
const BUFFER: usize = 1 << 20;

/// How long a program may take to become idle.
const SETTLE_LIMIT: Duration = Duration::from_secs(10);
const SETTLE_POLL: Duration = Duration::from_micros(300);

/// The unit of the CPU times in `/proc/PID/stat` on every current Linux.
const TICKS_PER_SECOND: u32 = 100;

/// A running program; killed when dropped.
pub(super) struct Peer {
    child: Child,
    stdin: ChildStdin,
    stdout: ChildStdout,
    buffer: Vec<u8>,
}

/// Response, user_message, turn_start, assistant_start, one text_delta, usage, assistant_message,
/// turn_end, done.
const LINES_OF_A_SHORT_TURN: usize = 9;

impl Peer {
    pub(super) fn start(mut command: Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {command:?}"))?;
        let stdin = child.stdin.take().context("standard input is piped")?;
        let stdout = child.stdout.take().context("standard output is piped")?;
        Ok(Self {
            child,
            stdin,
            stdout,
            buffer: vec![0; BUFFER],
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(super) fn send(&mut self, line: &str) -> anyhow::Result<()> {
        self.stdin.write_all(format!("{line}\n").as_bytes())?;
        Ok(())
    }

    /// Sends `line` and reads one line; returns its length.
    pub(super) fn call(&mut self, line: &str) -> anyhow::Result<usize> {
        self.send(line)?;
        self.read_until(b"\n")
    }

    /// Sends a prompt and reads until it is done; returns how much was read.
    pub(super) fn prompt(&mut self, message: &str) -> anyhow::Result<usize> {
        let prompt = serde_json::json!({"id": "p", "type": "prompt", "message": message});
        self.send(&prompt.to_string())?;
        self.read_until(DONE)
    }

    /// Sends the same short prompt many times without waiting, and reads until all are done.
    pub(super) fn prompts(&mut self, message: &str, times: u32) -> anyhow::Result<()> {
        let prompt = serde_json::json!({"id": "p", "type": "prompt", "message": message});
        self.send(&vec![prompt.to_string(); times as usize].join("\n"))?;
        let mut lines = LINES_OF_A_SHORT_TURN * times as usize;
        while lines > 0 {
            let count = self.stdout.read(&mut self.buffer)?;
            ensure!(count > 0, "the program closed its output");
            let read = self.buffer[..count].iter().filter(|byte| **byte == b'\n');
            lines = lines.saturating_sub(read.count());
        }
        Ok(())
    }

    /// Sends `line` and reads until `done`.
    pub(super) fn work(&mut self, line: &str) -> anyhow::Result<usize> {
        self.send(line)?;
        self.read_until(DONE)
    }

    /// Reads until an extension is ready.
    pub(super) fn until_ready(&mut self) -> anyhow::Result<()> {
        self.read_until(READY).map(drop)
    }

    /// Reads until `done` and passes every line with its arrival time to `show`.
    pub(super) fn watch(&mut self, mut show: impl FnMut(&[u8], Instant)) -> anyhow::Result<()> {
        let mut unfinished = Vec::new();
        loop {
            let count = self.stdout.read(&mut self.buffer)?;
            let now = Instant::now();
            ensure!(count > 0, "the program closed its output");
            unfinished.extend_from_slice(&self.buffer[..count]);
            let mut rest = unfinished.as_slice();
            while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
                let (line, tail) = rest.split_at(end + 1);
                show(line, now);
                if line == DONE {
                    return Ok(());
                }
                rest = tail;
            }
            unfinished = rest.to_vec();
        }
    }

    /// Reads the first line that the program writes.
    pub(super) fn first_line(&mut self) -> anyhow::Result<String> {
        let count = self.read_until(b"\n")?;
        Ok(String::from_utf8_lossy(&self.buffer[..count.min(BUFFER)]).into_owned())
    }

    /// Reads until the output ends in `end`. Checks the end of each read only, so that the driver does not
    /// slow the program down.
    fn read_until(&mut self, end: &[u8]) -> anyhow::Result<usize> {
        let mut total = 0;
        let mut tail = Vec::new();
        while tail != end {
            let count = self.stdout.read(&mut self.buffer)?;
            ensure!(count > 0, "the program closed its output");
            total += count;
            tail.extend_from_slice(&self.buffer[count.saturating_sub(end.len())..count]);
            let surplus = tail.len().saturating_sub(end.len());
            tail.drain(..surplus);
        }
        Ok(total)
    }

    pub(super) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_at_rest(self.pid())
    }

    /// Returns the CPU time of children that have exited, in steps of a tick.
    pub(super) fn children_cpu(&self) -> anyhow::Result<Duration> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.pid()))?;
        let (_, fields) = stat.rsplit_once(") ").context("unexpected stat")?;
        // The state is field 3 of proc(5); cutime and cstime are 16 and 17.
        let ticks = fields.split(' ').skip(13).take(2);
        let ticks: u32 = ticks.filter_map(|field| field.parse::<u32>().ok()).sum();
        Ok(Duration::from_secs(1) * ticks / TICKS_PER_SECOND)
    }

    pub(super) fn resident_bytes(&self) -> anyhow::Result<u64> {
        process::resident_bytes(self.pid()).context("the program has ended")
    }

    /// Returns the memory in use; shared pages count in part.
    pub(super) fn proportional_bytes(&self) -> anyhow::Result<u64> {
        let rollup = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.pid()))?;
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
        let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
        let kilobytes: u64 = kilobytes.context("no Pss")?.trim().parse()?;
        Ok(kilobytes * 1024)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the CPU time once every thread is idle; only then is it exact.
pub(super) fn cpu_at_rest(pid: u32) -> anyhow::Result<Duration> {
    let deadline = Instant::now() + SETTLE_LIMIT;
    loop {
        let before = process::cpu_time(pid).context("the program has ended")?;
        if is_at_rest(pid) && process::cpu_time(pid) == Some(before) {
            return Ok(before);
        }
        if Instant::now() > deadline {
            bail!("the program did not become idle");
        }
        thread::sleep(SETTLE_POLL);
    }
}

fn is_at_rest(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    threads.flatten().all(|thread| {
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat.rsplit_once(") ").map(|(_, fields)| fields);
        state.is_some_and(|fields| fields.starts_with(['S', 'I']))
    })
}
