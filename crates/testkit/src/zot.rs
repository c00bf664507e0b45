//! The `zot` binary, driven over real pipes.

mod command;
mod pipes;

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, kill_process};
use serde_json::Value;

pub use command::ZotCommand;
pub use rustix::process::Signal;

use crate::process;
use crate::recording::Transcript;
use pipes::Pipes;

/// The time limit for anything that should happen immediately. Generous, because test machines are busy;
/// a passing test never waits for it.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running `zot`; killed when dropped.
pub struct Zot {
    child: Child,
    stdin: Option<ChildStdin>,
    pipes: Pipes,
    /// The number of frames that were consumed.
    consumed: usize,
}

/// How a run ended.
#[derive(Debug)]
pub struct Finished {
    /// `None` when a signal ended it.
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub transcript: Transcript,
}

impl Zot {
    /// Sends `command` as one line.
    pub fn send(&mut self, command: Value) {
        self.send_line(&command.to_string());
    }

    /// Sends `line` and a line feed.
    pub fn send_line(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes());
    }

    /// Sends raw bytes. A closed pipe is not a failure: the exit code is more informative.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.pipes.note_sent(bytes);
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(bytes).and_then(|()| stdin.flush());
        }
    }

    /// Sends a prompt.
    pub fn prompt(&mut self, id: &str, message: &str) {
        self.send(serde_json::json!({"id": id, "type": "prompt", "message": message}));
    }

    /// Sends a prompt and collects what follows until `done`.
    pub fn turn(&mut self, id: &str, message: &str) -> Vec<Value> {
        self.prompt(id, message);
        self.collect_until(|frame| frame["type"] == "done")
    }

    /// Sends `command` (which has an id) and returns its response.
    pub fn call(&mut self, command: Value) -> Value {
        let id = command["id"].clone();
        self.send(command);
        self.wait_for(|frame| frame["type"] == "response" && frame["id"] == id)
    }

    /// Returns the next frame that `wanted` accepts and consumes all before it. Fails the test if zot ends
    /// or falls silent first.
    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut frames = self.collect_until(wanted);
        frames.pop().expect("collect_until ends with a match")
    }

    /// Like [`Zot::wait_for`], but returns every consumed frame, the match last.
    pub fn collect_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        match self.try_collect_until(wanted, PATIENCE) {
            Ok(frames) => frames,
            Err(why) => panic!("{why}; so far:\n{}", self.pipes.describe()),
        }
    }

    /// Like [`Zot::collect_until`] with a time limit; the error is the reason. Frames stay consumed even
    /// if none matches.
    pub fn try_collect_until(
        &mut self,
        wanted: impl Fn(&Value) -> bool,
        limit: Duration,
    ) -> Result<Vec<Value>, &'static str> {
        let deadline = Instant::now() + limit;
        let mut frames = Vec::new();
        loop {
            let frame = self.pipes.frame(self.consumed, deadline)?;
            self.consumed += 1;
            let found = wanted(&frame);
            frames.push(frame);
            if found {
                return Ok(frames);
            }
        }
    }

    /// Waits for an event of this type.
    pub fn event(&mut self, kind: &str) -> Value {
        self.wait_for(|frame| frame["type"] == kind)
    }

    /// Returns and consumes all frames that have arrived.
    pub fn take_pending(&mut self) -> Vec<Value> {
        let pending = self.pipes.frames_from(self.consumed);
        self.consumed += pending.len();
        pending
    }

    /// Returns the lines of standard output so far.
    pub fn lines(&self) -> Vec<String> {
        self.pipes.stdout_lines()
    }

    pub fn stderr(&self) -> String {
        self.pipes.stderr()
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    pub fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.child.id() as i32) {
            kill_process(pid, signal).expect("send a signal to zot");
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the CPU time used so far, if the system reports it.
    pub fn cpu_time(&self) -> Option<Duration> {
        process::cpu_time(self.pid())
    }

    /// Returns the memory in use in bytes, if the system reports it.
    pub fn resident_bytes(&self) -> Option<u64> {
        process::resident_bytes(self.pid())
    }

    /// Closes standard input and waits for the end.
    pub fn finish(mut self) -> Finished {
        self.close_stdin();
        self.wait(PATIENCE)
    }

    /// Waits for the end and leaves standard input open. Fails the test after `limit`.
    pub fn wait(mut self, limit: Duration) -> Finished {
        let status = self.exit_status(limit);
        self.pipes.wait_for_end();
        Finished {
            code: status.code(),
            signal: status.signal(),
            stdout: self.pipes.stdout(),
            stderr: self.pipes.stderr(),
            transcript: self.pipes.transcript(status.code().unwrap_or(-1)),
        }
    }

    fn exit_status(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.child.try_wait().expect("wait for zot") {
                return status;
            }
            if Instant::now() > deadline {
                panic!(
                    "zot did not end within {limit:?}; so far:\n{}",
                    self.pipes.describe()
                );
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
}

impl Drop for Zot {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// Polls until `condition` holds; fails the test after [`PATIENCE`].
pub fn poll_until(what: &str, condition: impl FnMut() -> bool) {
    let (mut condition, deadline) = (condition, Instant::now() + PATIENCE);
    while !condition() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
