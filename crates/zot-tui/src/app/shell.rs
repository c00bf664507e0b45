//! Commands that the user runs with `!`.

use super::{App, Effect, MAX_PROGRESS_BYTES, keep_end};

/// How much of what commands printed goes along with one prompt; the oldest is left out.
const MAX_ATTACHED: usize = 16;

/// The command that runs, and what earlier ones printed.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    pub(crate) running: Option<Running>,
    /// What goes along with the next prompt.
    pub(crate) outputs: Vec<ShellOutput>,
}

#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) command: String,
    /// The end of what it has printed.
    pub(crate) output: String,
    pub(crate) started_ms: u64,
    stopping: bool,
}

/// What a command of the user printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOutput {
    pub command: String,
    pub output: String,
    /// How it ended: `exit 0`, `stopped`.
    pub ending: String,
}

impl ShellOutput {
    /// As the model is told.
    pub(crate) fn told(&self) -> String {
        let output = self.output.trim_end();
        // Whatever is in the output, it ends where its fence does.
        let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let Self {
            command, ending, ..
        } = self;
        format!("I ran `{command}` ({ending}):\n\n{fence}\n{output}\n{fence}")
    }
}

impl App {
    pub(super) fn run_shell(&mut self, command: &str) -> Vec<Effect> {
        self.shell.running = Some(Running {
            command: command.to_owned(),
            output: String::new(),
            started_ms: self.now_ms,
            stopping: false,
        });
        vec![Effect::Shell(command.to_owned())]
    }

    pub(super) fn take_shell_progress(&mut self, text: &str) {
        if let Some(running) = &mut self.shell.running {
            running.output.push_str(text);
            keep_end(&mut running.output, MAX_PROGRESS_BYTES);
        }
    }

    pub(super) fn end_shell(&mut self, output: ShellOutput) {
        let running = self.shell.running.take();
        let started_ms = running.map_or(self.now_ms, |running| running.started_ms);
        self.add_command(&output, started_ms);
        self.shell.outputs.push(output);
        let surplus = self.shell.outputs.len().saturating_sub(MAX_ATTACHED);
        self.shell.outputs.drain(..surplus);
    }

    /// Stops the command, if one runs.
    pub(super) fn cancel_shell(&mut self) -> Option<Vec<Effect>> {
        let running = self.shell.running.as_mut()?;
        if running.stopping {
            return None;
        }
        running.stopping = true;
        Some(vec![Effect::CancelShell])
    }
}
