//! The `bash` tool: runs a shell command and shows what it printed.

mod log;
mod output;
mod throttle;

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};
use zot_process::{Completion, Outcome, OutputSink};

use crate::PathResolver;
use crate::arguments::{ArgumentError, Fields};
use crate::builtin::definition;
use crate::file::reason;
use crate::sandbox::NotConfined;
use crate::utf8::Utf8Decoder;
use log::LogDirectory;
use output::CollectedOutput;
use throttle::Throttle;

const SHELL: &str = "/bin/sh";

/// The limit for calls without `timeout`: long enough for a build, short enough to notice a hang.
///
/// Limit: the command is ended.
const DEFAULT_BASH_TIME_LIMIT: Duration = Duration::from_secs(10 * 60);

/// The longest limit that a call may request.
///
/// Limit: a longer requested limit is lowered to this.
const MAX_BASH_TIME_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);

const DESCRIPTION: &str = "Run a command with /bin/sh in the working directory and return its \
exit code and its output, standard error included. There is no input: commands that ask \
questions see the end of it. Every call starts a new shell, and processes left in the background \
are ended with it. Of an output over 2000 lines or 50 KiB the beginning and the end are shown, and \
the whole is kept in a file that the result names.";

const PARAMETERS: &str = concat!(
    r#"{"type":"object","properties":{"#,
    r#""command":{"type":"string","description":"Command line or script to run"},"#,
    r#""timeout":{"type":"integer","description":"Seconds after which the command is ended; 600 if not given"}"#,
    r#"},"required":["command"]}"#
);

/// Runs commands for the model.
pub struct BashTool {
    definition: Arc<ToolDefinition>,
    paths: Arc<PathResolver>,
    output_dir: PathBuf,
}

impl BashTool {
    /// Creates a tool that runs commands in the resolver's working directory and keeps long outputs
    /// in `output_dir`.
    pub fn new(paths: Arc<PathResolver>, output_dir: impl Into<PathBuf>) -> Self {
        Self {
            definition: definition("bash", DESCRIPTION, PARAMETERS, ToolEffect::Changes),
            paths,
            output_dir: output_dir.into(),
        }
    }

    async fn bash(&self, invocation: ToolInvocation<'_>) -> Result<ToolOutput, BashError> {
        let mut fields = Fields::parse(invocation.arguments)?;
        let script = fields.take_string("command")?.unwrap_or_default();
        let seconds = fields.take_integer("timeout")?.unwrap_or(0);
        if script.trim().is_empty() {
            return Err(BashError::CommandMissing);
        }
        if invocation.cancel.is_cancelled() {
            return Err(BashError::AbortedBeforeStart);
        }
        let time_limit = match u64::try_from(seconds) {
            Ok(seconds @ 1..) => Duration::from_secs(seconds).min(MAX_BASH_TIME_LIMIT),
            _ => DEFAULT_BASH_TIME_LIMIT,
        };

        let mut command = Command::new(SHELL);
        let cwd = self.paths.cwd();
        // Without PWD the shell would show another path for a directory that was reached through a
        // link.
        command
            .args(["-c", &script])
            .current_dir(cwd)
            .env("PWD", cwd);
        let sandbox = self.paths.sandbox();
        let confined_to = sandbox.directory();
        let not_confined =
            |error| NotConfined::to(confined_to.clone().unwrap_or_else(|| cwd.to_owned()), error);
        let sandbox = sandbox.sandbox().map_err(not_confined)?;
        let command = sandbox.prepare(command).map_err(not_confined)?.command;
        let logs = match confined_to {
            // The model can read logs there.
            Some(_) => {
                let (real, shown) = sandbox.temporary();
                LogDirectory::InSandbox { real, shown }
            }
            None => LogDirectory::Anywhere(&self.output_dir),
        };
        let mut listener = Listener {
            output: CollectedOutput::new(logs),
            decoder: Utf8Decoder::default(),
            throttle: Throttle::new(invocation.progress),
        };
        let completion = zot_process::run(command, time_limit, invocation.cancel, &mut listener)
            .await
            .map_err(|source| BashError::Start {
                cwd: cwd.to_owned(),
                source,
            })?;
        let output = listener.finish().await;
        let mut text = report(&script, &output, time_limit, &completion);
        if exit_code(&completion) == 0 {
            return Ok(ToolOutput::text(text));
        }
        if let Some(directory) = confined_to {
            // The kernel's "permission denied" and "read-only file system" do not explain the
            // cause.
            let directory = directory.display();
            text.push_str(&format!(
                "  (confined to {directory} and $TMPDIR; only the user can lift this)"
            ));
        }
        Ok(ToolOutput::error(text))
    }
}

impl Tool for BashTool {
    fn definition(&self) -> &Arc<ToolDefinition> {
        &self.definition
    }

    fn run<'a>(&'a self, invocation: ToolInvocation<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            self.bash(invocation)
                .await
                .unwrap_or_else(|error| ToolOutput::error(error.to_string()))
        })
    }

    fn preview(&self, arguments: &RawValue) -> Option<String> {
        Fields::parse(arguments).ok()?.take_string("command").ok()?
    }
}

#[derive(Debug, thiserror::Error)]
enum BashError {
    #[error(transparent)]
    Arguments(#[from] ArgumentError),
    #[error("command is required")]
    CommandMissing,
    #[error("aborted before it started")]
    AbortedBeforeStart,
    #[error(transparent)]
    NotConfined(#[from] NotConfined),
    #[error("start {SHELL} in {}: {}{}", cwd.display(), reason(source), start_hint(source))]
    Start { cwd: PathBuf, source: io::Error },
}

fn start_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ArgumentListTooLong => "; write the script to a file and run that",
        io::ErrorKind::NotFound => "; does the working directory still exist?",
        _ => "",
    }
}

/// Collects what a command prints and forwards it.
struct Listener<'a> {
    output: CollectedOutput<'a>,
    decoder: Utf8Decoder,
    throttle: Throttle<'a>,
}

impl Listener<'_> {
    async fn finish(mut self) -> String {
        let rest = self.decoder.finish();
        self.throttle.report(rest).await;
        self.output.into_text()
    }
}

impl OutputSink for Listener<'_> {
    async fn accept(&mut self, chunk: &[u8]) {
        self.output.push(chunk);
        if self.throttle.admits(chunk.len()) {
            let text = self.decoder.decode(chunk);
            self.throttle.report(text).await;
        } else {
            self.decoder.skip(chunk);
        }
    }
}

/// Returns the exit code. A process ended by a signal has none; existing programs expect -1.
fn exit_code(completion: &Completion) -> i32 {
    match completion.outcome {
        Outcome::Exited(status) => status.and_then(|status| status.code()).unwrap_or(-1),
        Outcome::TimedOut | Outcome::Cancelled => -1,
    }
}

fn report(script: &str, output: &str, time_limit: Duration, completion: &Completion) -> String {
    let mut text = format!("$ {script}\n\n{output}");
    if !output.is_empty() {
        text.push_str(if output.ends_with('\n') { "\n" } else { "\n\n" });
    }
    text.push_str(&format!(
        "[exit {}]  Took {:.1}s",
        exit_code(completion),
        completion.elapsed.as_secs_f64()
    ));
    if completion.outcome == Outcome::TimedOut {
        text.push_str(&format!("  (timed out after {}s)", time_limit.as_secs()));
    }
    if completion.ended_background {
        text.push_str("  (processes still running in the background were ended)");
    }
    if completion.left_daemon {
        text.push_str("  (a process of another user is still running)");
    }
    text
}

#[cfg(test)]
mod tests;
