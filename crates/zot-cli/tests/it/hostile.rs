//! Peers that stall, flood, vanish or are not pipes.

mod endless;
mod flood;
mod paths;
mod signals;
mod streams;

use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use testkit::{ModelServer, Signal, Wire, Workdir, ZotCommand};

use crate::support::binary;

/// How long zot may take to exit.
pub(crate) const ENDING: Duration = Duration::from_secs(5);

/// A `zot` with chosen standard streams; killed when dropped.
pub(crate) struct Process(pub(crate) Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("start the zot binary"))
    }

    /// Waits for the exit; fails the test after `limit`.
    pub(crate) fn wait(&mut self, limit: Duration) -> ExitStatus {
        let deadline = Instant::now() + limit;
        loop {
            if let Some(status) = self.0.try_wait().expect("wait for zot") {
                return status;
            }
            assert!(Instant::now() < deadline, "zot did not end in {limit:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, signal).expect("send a signal to zot");
    }

    /// Returns what was written to a piped standard error.
    pub(crate) fn stderr(&mut self) -> String {
        let stderr = self.0.stderr.take().expect("standard error is piped");
        std::io::read_to_string(stderr).expect("read standard error")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns `zot rpc` with standard error piped and the other streams unset.
pub(crate) fn rpc(server: &ModelServer, workdir: &Workdir) -> Command {
    let mut command = ZotCommand::rpc(binary(), workdir, server, Wire::OpenAi).into_command();
    command.stderr(Stdio::piped());
    command
}

/// Returns `zot -p` or `zot --json` without input and with standard output unset.
pub(crate) fn one_shot(server: &ModelServer, workdir: &Workdir, arguments: [&str; 2]) -> Command {
    let mut command = ZotCommand::new(binary(), workdir)
        .model(server, Wire::OpenAi)
        .arguments(arguments)
        .into_command();
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A prompt command, ready to be sent.
pub(crate) fn prompt(message: &str) -> String {
    let line = serde_json::json!({"id": "1", "type": "prompt", "message": message});
    format!("{line}\n")
}
