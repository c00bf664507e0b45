//! Sessions for people to read.

mod chart;
mod html;
mod markdown;
mod rendered;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use zot_conversation::{Timestamp, ToolCallId, ToolResult, Usage};

pub use html::html;
pub use markdown::markdown;

use crate::Session;

/// Describes what the model spent.
fn spent(usage: &Usage) -> String {
    let cost = match usage.cost_usd {
        0.0 => String::new(),
        cost => format!(", ${cost:.4}"),
    };
    format!(
        "{} tokens in, {} out{cost}",
        grouped(usage.prompt_tokens()),
        grouped(usage.output)
    )
}

/// Formats a number with commas between groups of three digits.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn minute(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// The calls whose results are diffs: those of `edit`.
struct Edits<'a>(HashSet<&'a ToolCallId>);

impl<'a> Edits<'a> {
    fn of(session: &'a Session) -> Self {
        let calls = session.messages.iter().flat_map(|m| m.tool_calls());
        Self(
            calls
                .filter(|call| call.name == "edit")
                .map(|call| &call.id)
                .collect(),
        )
    }

    /// Returns whether the `text` of a result is a diff: that of an edit, or one that a command
    /// printed.
    fn is_diff(&self, result: &ToolResult, text: &str) -> bool {
        (!result.is_error && self.0.contains(&result.call_id))
            || text.lines().any(|line| line.starts_with("@@ -"))
    }
}

/// Formats a JSON object on several lines.
fn pretty(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| json.to_owned())
}

/// Summarises a tool call on one line: the command, or the file.
fn gist(name: &str, arguments: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
    let field = match name {
        "bash" => "command",
        _ => "path",
    };
    let gist = value.get(field).and_then(|value| value.as_str());
    let mut lines = gist.unwrap_or_default().lines();
    let first = lines.next().unwrap_or_default();
    let mut shown: String = first.chars().take(120).collect();
    if shown.len() < first.len() || lines.next().is_some() {
        shown.push('…');
    }
    shown
}
