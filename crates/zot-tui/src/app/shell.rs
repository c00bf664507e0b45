//! Commands that the user runs with `!`.

use serde_json::json;

use super::chat::{MAX_PROGRESS_BYTES, keep_end};
use super::{App, Effect, Item, Tool, ToolState};

/// How much of what commands printed goes along with one prompt; the oldest is left out.
const MAX_ATTACHED: usize = 16;

/// The command that runs, and what earlier ones printed.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    /// Looks like a call of a tool.
    pub(crate) running: Option<Tool>,
    is_stopping: bool,
    /// What is told in prompts under way, and was shown before.
    told: Vec<String>,
    /// What goes along with the next prompt.
    pub(crate) outputs: Vec<ShellOutput>,
}

/// What a command of the user printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellOutput {
    pub command: String,
    pub output: String,
    /// How it ended: `exit code 1`, `stopped`.
    pub ending: String,
}

impl ShellOutput {
    const SUCCEEDED: &str = "exit code 0";

    fn succeeded(&self) -> bool {
        self.ending == Self::SUCCEEDED
    }

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

impl Shell {
    pub(super) fn tell(&mut self, outputs: &[ShellOutput]) {
        self.told.extend(outputs.iter().map(ShellOutput::told));
    }

    /// `text` without what was shown before.
    pub(super) fn without_told(&mut self, mut text: String) -> String {
        self.told.retain(|told| match text.find(told.as_str()) {
            Some(at) => {
                text.replace_range(at..at + told.len(), "");
                false
            }
            None => true,
        });
        text.truncate(text.trim_end().len());
        text
    }
}

impl App {
    pub(super) fn run_shell(&mut self, command: &str) -> Vec<Effect> {
        self.shell.is_stopping = false;
        self.shell.running = Some(Tool {
            id: String::new(),
            name: "!".to_owned(),
            arguments: json!({"command": command}).to_string(),
            output: String::new(),
            state: ToolState::Running,
            started_ms: self.now_ms,
            took_ms: 0,
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
        let Some(mut call) = self.shell.running.take() else {
            return;
        };
        // That a command is running.
        self.forget_remark();
        call.took_ms = self.now_ms.saturating_sub(call.started_ms);
        call.output = format!("{}\n[{}]", output.output.trim_end(), output.ending);
        call.state = match output.succeeded() {
            true => ToolState::Succeeded,
            false => ToolState::Failed,
        };
        self.add(Item::Tool(Box::new(call)));
        self.shell.outputs.push(output);
        let surplus = self.shell.outputs.len().saturating_sub(MAX_ATTACHED);
        self.shell.outputs.drain(..surplus);
    }

    /// Stops the command, if one runs.
    pub(super) fn cancel_shell(&mut self) -> Option<Vec<Effect>> {
        if self.shell.running.is_none() || self.shell.is_stopping {
            return None;
        }
        self.shell.is_stopping = true;
        Some(vec![Effect::CancelShell])
    }
}
