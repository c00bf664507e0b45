//! Runs a command that the user typed after `!`: with the user's rights, as in any shell.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use zot_process::launch::Confined;
use zot_process::sandbox::{Level, Policy, Sandbox, Surroundings};
use zot_process::{Completion, Outcome, OutputSink};

use super::Chat;
use crate::app::{Input, ShellInput, ShellOutput};

/// How long a command may run: long enough for a build.
///
/// Limit: the command is stopped.
const SHELL_TIME_LIMIT: Duration = Duration::from_secs(60 * 60);

/// How much of the output is kept.
///
/// Limit: the end of the output is kept.
const MAX_SHELL_OUTPUT_BYTES: usize = 50 * 1024;

/// Chunks of output that may wait to be shown; then the command waits.
const PROGRESS_QUEUE: usize = 16;

/// The output of the running command, and the token that stops it.
pub(super) type Running = (mpsc::Receiver<String>, CancellationToken);

impl Chat {
    pub(super) fn begin_shell(&mut self, command: String) -> Vec<Input> {
        let cwd = self.runtime.cwd().to_owned();
        let (sender, receiver) = mpsc::channel(PROGRESS_QUEUE);
        let cancel = CancellationToken::new();
        self.tasks.shell = Some((receiver, cancel.clone()));
        self.tasks
            .jobs
            .spawn(async move { vec![run(&cwd, command, &cancel, sender).await] });
        Vec::new()
    }
}

pub(super) async fn next_output(shell: &mut Option<Running>) -> Option<String> {
    match shell {
        Some((output, _)) => output.recv().await,
        None => std::future::pending().await,
    }
}

/// Runs `command` with its streams merged, and reports its output as it arrives.
async fn run(
    cwd: &Path,
    command: String,
    cancel: &CancellationToken,
    progress: mpsc::Sender<String>,
) -> Input {
    let mut collector = OutputCollector {
        end: VecDeque::new(),
        is_cut: false,
        progress,
    };
    let completion = match shell(cwd, &command) {
        Ok(shell) => zot_process::run(shell, SHELL_TIME_LIMIT, cancel, &mut collector).await,
        Err(error) => Err(error),
    };
    Input::Shell(ShellInput::Ended(ShellOutput {
        command,
        output: collector.output(),
        ending: ending(completion),
    }))
}

/// Prepares a command of the user, who gets their whole environment: they may want to call a model with
/// `curl`. Only the token of a pipe is not for anybody.
fn shell(cwd: &Path, command: &str) -> io::Result<Confined> {
    let mut shell = Command::new(zot_process::find_helper("bash", cwd)?);
    shell.arg("-c").arg(command).current_dir(cwd);
    let prepared = Sandbox::new(Policy::at(Level::Off), Surroundings::default())
        .and_then(|sandbox| sandbox.prepare(shell));
    Ok(prepared.map_err(io::Error::other)?.command)
}

fn ending(completion: io::Result<Completion>) -> String {
    let completion = match completion {
        Ok(completion) => completion,
        Err(error) => return format!("bash could not be started: {error}"),
    };
    match completion.outcome {
        Outcome::Exited(Some(status)) => match status.code() {
            Some(code) => format!("exit code {code}"),
            // The status names the signal.
            None => status.to_string(),
        },
        Outcome::Exited(None) => "ended".to_owned(),
        Outcome::TimedOut => format!("stopped after {} minutes", SHELL_TIME_LIMIT.as_secs() / 60),
        Outcome::Cancelled => "stopped".to_owned(),
    }
}

struct OutputCollector {
    end: VecDeque<u8>,
    is_cut: bool,
    progress: mpsc::Sender<String>,
}

impl OutputCollector {
    fn output(self) -> String {
        let bytes = Vec::from(self.end);
        let text = String::from_utf8_lossy(&bytes);
        match self.is_cut {
            true => format!("[beginning omitted]\n{text}"),
            false => text.into_owned(),
        }
    }
}

impl OutputSink for OutputCollector {
    async fn accept(&mut self, chunk: &[u8]) {
        self.end.extend(chunk);
        let surplus = self.end.len().saturating_sub(MAX_SHELL_OUTPUT_BYTES);
        self.end.drain(..surplus);
        self.is_cut |= surplus > 0;
        // The receiver is gone when the chat ends.
        let text = String::from_utf8_lossy(chunk).into_owned();
        let _ = self.progress.send(text).await;
    }
}
