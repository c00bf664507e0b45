//! Steps of a prompt, in words.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use serde_json::Value;
use zot_sdk::{AgentEvent, ToolCall};

/// How long the description of a step is.
const MAX_STEP_CHARS: usize = 300;

/// Describes events for the client's user.
#[derive(Default)]
pub(super) struct Steps {
    /// The names of running calls.
    tools: HashMap<String, String>,
}

impl Steps {
    /// Returns a line about an event; `None` if it is not worth one.
    pub(super) fn describe(&mut self, event: &AgentEvent) -> Option<String> {
        match event {
            AgentEvent::AssistantMessage(message) => {
                // Without calls it is the answer, which the result has.
                let has_calls = message.tool_calls().next().is_some();
                let text = one_line(&message.text());
                (has_calls && !text.is_empty()).then_some(text)
            }
            AgentEvent::ToolCallRequested(call) => {
                let id = call.id.as_str().to_owned();
                self.tools.insert(id, call.name.clone());
                Some(one_line(&format!("{}: {}", call.name, subject(call))))
            }
            AgentEvent::ConfirmationRequested { call, .. } => {
                Some(one_line(&format!("{} waits for permission", call.name)))
            }
            AgentEvent::ToolFinished { result, .. } => {
                let name = self.tools.remove(result.call_id.as_str())?;
                if !result.is_error {
                    return None;
                }
                let text = zot_conversation::joined_text(&result.content);
                Some(one_line(&format!("{name} failed: {text}")))
            }
            AgentEvent::Retrying { wait, error, .. } => Some(one_line(&format!(
                "{}; next attempt in {} s",
                error.message,
                wait.as_secs_f64().ceil()
            ))),
            AgentEvent::FellBack { from, to, error } => Some(one_line(&format!(
                "{from} failed ({}); {to} takes over",
                error.message
            ))),
            AgentEvent::CompactionStarted => Some("summarising the conversation".to_owned()),
            AgentEvent::Notice(notice) => Some(one_line(notice)),
            _ => None,
        }
    }
}

/// Returns what a call is about: the command, the path, or the first text among its arguments.
fn subject(call: &ToolCall) -> String {
    let arguments: Value = serde_json::from_str(call.arguments.json_or_empty()).unwrap_or_default();
    let named = ["command", "path"]
        .iter()
        .find_map(|name| arguments.get(name)?.as_str());
    let first = || arguments.as_object()?.values().find_map(Value::as_str);
    named.or_else(first).unwrap_or_default().to_owned()
}

/// Returns the text on one line without control characters, shortened.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text
        .split(|character: char| character.is_whitespace() || character.is_control())
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    match line.char_indices().nth(MAX_STEP_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
