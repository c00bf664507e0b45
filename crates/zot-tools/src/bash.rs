//! The `bash` tool: runs a shell command and shows what it printed.

mod asking;
mod denial;
mod hint;
mod home;
mod log;
mod obstruction;
mod offer;
mod output;
mod throttle;

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use serde_json::value::RawValue;

use zot_conversation::{BoxFuture, Tool, ToolDefinition, ToolEffect, ToolInvocation, ToolOutput};
use zot_process::launch::Confined;
use zot_process::{Completion, Outcome, OutputSink};

use crate::PathResolver;
use crate::arguments::{ArgumentError, Fields};
use crate::builtin::definition;
use crate::file::reason;
use crate::sandbox::NotConfined;
use crate::utf8::Utf8Decoder;
use hint::Ended;
use home::OwnHome;
use log::LogDirectory;
pub(crate) use log::is_log;
use obstruction::{Obstruction, Said};
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

        let call = Call {
            script: &script,
            time_limit,
            invocation: &invocation,
        };
        self.run_asking(&call).await
    }

    /// Runs the command as the policy wants it.
    async fn run_in_force(&self, call: &Call<'_>) -> Result<Ran, BashError> {
        let cwd = self.paths.cwd();
        let tools = self.paths.sandbox();
        let directory = tools.directory().unwrap_or_else(|| cwd.to_owned());
        let not_confined = |error| NotConfined::to(directory.clone(), error);
        let sandbox = tools.sandbox().map_err(not_confined)?;
        let prepared = sandbox.prepare(self.command(call)).map_err(not_confined)?;
        let walls = tools.walls_of(&sandbox);
        let logs = match walls {
            // The model can read logs there.
            Some(_) => {
                let (real, shown) = sandbox.temporary();
                LogDirectory::InSandbox { real, shown }
            }
            None => LogDirectory::Anywhere(&self.output_dir),
        };
        let home = walls
            .as_ref()
            .and_then(|walls| OwnHome::watch(walls, tools));
        let (mut ran, output) = self.run_prepared(call, prepared.command, logs).await?;
        let policy = sandbox.policy();
        for sentence in hint::reached_limits(&policy.rules.limits, &output, &ran.ended) {
            ran.remarks
                .push_str(&format!("\n[sandbox {}] {sentence}", policy.level));
        }
        if let Some(sentence) = home.and_then(|home| home.explain(tools)) {
            ran.remarks
                .push_str(&format!("\n[sandbox {}] {sentence}", policy.level));
        }
        let Some(walls) = walls else {
            return Ok(ran);
        };
        let failed = ran.exit_code != 0;
        if walls.is_jail() && failed {
            // The kernel's "permission denied" and "read-only file system" do not explain the
            // cause.
            let directory = walls.directory().display();
            ran.text.push_str(&format!(
                "  (confined to {directory} and $TMPDIR; only the user can lift this)"
            ));
        }
        let said = (!walls.is_jail()).then_some(Said {
            output: &output,
            script: call.script,
            failed,
        });
        let obstacles = sandbox.obstacles(&prepared.run);
        ran.obstruction = Obstruction::find(&walls, cwd, obstacles, said);
        ran.may_ask &= !walls.is_jail() && !tools.is_fixed();
        Ok(ran)
    }

    /// Runs the command with the user's rights.
    async fn run_outside(&self, call: &Call<'_>) -> Result<Ran, BashError> {
        let failed = |error| NotConfined::to(self.paths.cwd().to_owned(), error);
        let sandbox = self.paths.sandbox().outside().map_err(failed)?;
        let prepared = sandbox.prepare(self.command(call)).map_err(failed)?;
        let logs = LogDirectory::Anywhere(&self.output_dir);
        let (ran, _) = self.run_prepared(call, prepared.command, logs).await?;
        let note = "run once more outside of the sandbox: the user allowed it for this call only";
        Ok(ran.with_note(note))
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let cwd = self.paths.cwd();
        let mut command = Command::new(SHELL);
        // Without PWD the shell would show another path for a directory that was reached through a
        // link.
        command
            .args(["-c", call.script])
            .current_dir(cwd)
            .env("PWD", cwd);
        command
    }

    /// Runs a command to its end. Also returns its output as it is shown.
    async fn run_prepared(
        &self,
        call: &Call<'_>,
        command: Confined,
        logs: LogDirectory<'_>,
    ) -> Result<(Ran, String), BashError> {
        let mut listener = Listener {
            output: CollectedOutput::new(logs),
            decoder: Utf8Decoder::default(),
            throttle: Throttle::new(call.invocation.progress),
        };
        let cancel = call.invocation.cancel;
        let completion = zot_process::run(command, call.time_limit, cancel, &mut listener)
            .await
            .map_err(|source| BashError::Start {
                cwd: self.paths.cwd().to_owned(),
                source,
            })?;
        let output = listener.finish().await;
        let ran = Ran {
            text: report(call.script, &output, call.time_limit, &completion),
            exit_code: exit_code(&completion),
            may_ask: matches!(completion.outcome, Outcome::Exited(_)),
            ended: Ended {
                status: match completion.outcome {
                    Outcome::Exited(status) => status,
                    Outcome::TimedOut | Outcome::Cancelled => None,
                },
                elapsed: completion.elapsed,
            },
            remarks: String::new(),
            obstruction: None,
        };
        Ok((ran, output))
    }
}

/// What a call asks for.
struct Call<'a> {
    script: &'a str,
    time_limit: Duration,
    invocation: &'a ToolInvocation<'a>,
}

/// A command that has ended.
struct Ran {
    text: String,
    exit_code: i32,
    /// Whether it makes sense to ask the user about the obstruction.
    may_ask: bool,
    ended: Ended,
    /// Which limits it seems to have reached, and what will be lost, in lines of their own.
    remarks: String,
    obstruction: Option<Obstruction>,
}

impl Ran {
    fn with_note(mut self, note: &str) -> Self {
        self.text.push_str(&format!("  ({note})"));
        self
    }

    fn into_output(mut self) -> ToolOutput {
        self.text.push_str(&self.remarks);
        if let Some(obstruction) = &self.obstruction {
            self.text.push_str(&obstruction.explain());
        }
        match self.exit_code {
            0 => ToolOutput::text(self.text),
            _ => ToolOutput::error(self.text),
        }
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
