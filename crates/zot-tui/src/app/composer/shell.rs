//! Commands that the user runs with `!`.

use serde_json::json;

use crate::app::action::Action;
use crate::app::{Arguments, Context, Effect, Item, ShellEffect, Tool, ToolState};

/// Commands whose output is attached to one prompt.
///
/// Limit: the model sees only the last commands.
const MAX_ATTACHED_COMMANDS: usize = 16;

/// The running command, and the output of earlier ones.
#[derive(Debug, Default)]
pub(crate) struct Shell {
    /// Shown like a tool call.
    pub(crate) running: Option<Tool>,
    is_stopping: bool,
    /// The running command belongs to a conversation that is over.
    is_forgotten: bool,
    /// The outputs attached to the next prompt.
    pub(crate) outputs: Vec<ShellOutput>,
}

/// The output of a `!command`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShellOutput {
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

    /// Returns the text that the model receives.
    pub(crate) fn for_model(&self) -> String {
        let output = self.output.trim_end();
        // A fence longer than any in the output.
        let longest = output.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let Self {
            command, ending, ..
        } = self;
        format!("{INTRODUCTION}{command}` ({ending}):\n\n{fence}\n{output}\n{fence}")
    }

    /// Returns the label of a chip: `!make test 3 lines`.
    pub(crate) fn chip(&self) -> String {
        chip(&self.command, self.output.trim_end())
    }

    /// Returns where the typed part of a prompt ends, and chips for the outputs after it.
    pub(crate) fn find_in(prompt: &str) -> (usize, Vec<String>) {
        let separator = format!("\n\n{INTRODUCTION}");
        for (start, _) in prompt.match_indices(&separator) {
            let outputs = prompt.get(start + 2..).and_then(output_chips);
            if let Some(chips) = outputs {
                return (start, chips);
            }
        }
        (prompt.len(), Vec::new())
    }
}

const INTRODUCTION: &str = "I ran `";

fn chip(command: &str, output: &str) -> String {
    let command = command.replace('\n', " ");
    match output.lines().count() {
        0 => format!("!{command} no output"),
        1 => format!("!{command} 1 line"),
        count => format!("!{command} {count} lines"),
    }
}

/// Returns chips for the outputs in `text`, if it consists of nothing else.
fn output_chips(mut text: &str) -> Option<Vec<String>> {
    let mut chips = Vec::new();
    loop {
        let (heading, body) = text.strip_prefix(INTRODUCTION)?.split_once("):\n\n")?;
        let (command, _) = heading.rsplit_once("` (")?;
        let (fence, body) = body.split_once('\n')?;
        if fence.len() < 3 || !fence.bytes().all(|byte| byte == b'`') {
            return None;
        }
        let closing = format!("\n{fence}");
        let (output, rest) = body.split_once(closing.as_str())?;
        chips.push(chip(command, output));
        match rest.trim_end().is_empty() {
            true => return Some(chips),
            false => text = rest.strip_prefix("\n\n")?,
        }
    }
}

impl Shell {
    /// Forgets all output, because its conversation is over.
    pub(crate) fn forget(&mut self) {
        self.outputs.clear();
        self.is_forgotten = self.running.is_some();
    }

    pub(super) fn start(&mut self, context: &Context, command: &str) -> Effect {
        self.is_stopping = false;
        self.is_forgotten = false;
        let arguments = json!({"command": command}).to_string();
        self.running = Some(Tool {
            arguments: Arguments::from(arguments.as_str()),
            state: ToolState::Running,
            ..Tool::new(String::new(), "!".to_owned(), context.now_ms)
        });
        Effect::Shell(ShellEffect::Run(command.to_owned()))
    }

    pub(crate) fn add_progress(&mut self, text: &str) {
        if let Some(running) = &mut self.running {
            running.add_progress(text);
        }
    }

    /// Returns the finished command as the transcript shows it.
    pub(super) fn end(&mut self, context: &Context, output: ShellOutput) -> Option<Item> {
        let mut call = self.running.take()?;
        call.took_ms = context.now_ms.saturating_sub(call.started_ms);
        call.output = format!("{}\n[{}]", output.output.trim_end(), output.ending);
        call.state = match output.succeeded() {
            true => ToolState::Succeeded,
            false => ToolState::Failed,
        };
        if !std::mem::take(&mut self.is_forgotten) {
            self.outputs.push(output);
            let surplus = self.outputs.len().saturating_sub(MAX_ATTACHED_COMMANDS);
            self.outputs.drain(..surplus);
        }
        Some(Item::Tool(Box::new(call)))
    }

    /// Detaches the last output from the next prompt.
    pub(crate) fn detach_output(&mut self) -> Action {
        match self.outputs.pop() {
            Some(output) => Action::remark(format!(
                "the output of !{} will not be sent",
                output.command.replace('\n', " ")
            )),
            None => Action::remark("no output is attached"),
        }
    }

    /// Stops the running command, if there is one.
    pub(crate) fn cancel(&mut self) -> Option<Effect> {
        if self.running.is_none() || self.is_stopping {
            return None;
        }
        self.is_stopping = true;
        Some(Effect::Shell(ShellEffect::Cancel))
    }
}
