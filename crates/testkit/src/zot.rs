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

/// How long anything may take that should happen at once. Generous, because test machines are
/// busy; nothing waits for it when all is well.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A running `zot`; killed when dropped.
pub struct Zot {
    child: Child,
    stdin: Option<ChildStdin>,
    pipes: Pipes,
    /// Frames that `wait_for` has passed.
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

    /// Sends bytes as they are. A closed pipe is no failure: the exit code tells more.
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

    /// The first frame not yet passed for which `wanted` holds; passes all before it. Fails the
    /// test when zot ends or goes silent first.
    pub fn wait_for(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut frames = self.collect_until(wanted);
        frames.pop().expect("collect_until ends with a match")
    }

    /// Like [`Zot::wait_for`], returning every frame it passed, the match last.
    pub fn collect_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Vec<Value> {
        match self.try_collect_until(wanted, PATIENCE) {
            Ok(frames) => frames,
            Err(why) => panic!("{why}; so far:\n{}", self.pipes.describe()),
        }
    }

    /// Like [`Zot::collect_until`] with a time limit; the error says what happened instead. Frames
    /// passed in vain stay passed.
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

    /// Frames that have arrived and were not passed yet; passes them.
    pub fn take_pending(&mut self) -> Vec<Value> {
        let pending = self.pipes.frames_from(self.consumed);
        self.consumed += pending.len();
        pending
    }

    /// The lines of standard output so far, as they came.
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

    /// Processor time used so far, where the system tells.
    pub fn cpu_time(&self) -> Option<Duration> {
        process::cpu_time(self.pid())
    }

    /// Memory in use, in bytes, where the system tells.
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

/// Polls until `condition` holds; fails the test when it does not within [`PATIENCE`].
pub fn poll_until(what: &str, condition: impl FnMut() -> bool) {
    let (mut condition, deadline) = (condition, Instant::now() + PATIENCE);
    while !condition() {
        assert!(Instant::now() < deadline, "never happened: {what}");
        std::thread::sleep(POLL_INTERVAL);
    }
}
