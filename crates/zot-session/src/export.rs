//! Sessions for people to read.

mod chart;
mod html;
mod markdown;
#[cfg(test)]
mod tests;

pub use html::html;
pub use markdown::markdown;

use zot_conversation::{Timestamp, Usage};

/// What the model spent, in words.
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

/// A number with commas between groups of three digits.
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

/// Whether a tool's result is a diff, as `edit` answers with.
fn is_diff(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("@@ ")) || text.starts_with("--- ")
}

/// A JSON object on several lines.
fn pretty(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_else(|_| json.to_owned())
}

/// What a tool call is about, on one line: the command, or the file.
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
