//! Reads the changes made by a call from its arguments.

use serde_json::Value;

/// Returns what was written to a file.
pub(super) fn content(arguments: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(arguments).ok()?;
    Some(arguments.get("content")?.as_str()?.to_owned())
}

/// Returns what was replaced in a file, line by line: `-old`, `+new`.
pub(super) fn diff(arguments: &str) -> Vec<String> {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let edits = arguments.get("edits").and_then(Value::as_array);
    let mut lines = Vec::new();
    for edit in edits.into_iter().flatten() {
        for (mark, name) in [('-', "oldText"), ('+', "newText")] {
            let text = edit.get(name).and_then(Value::as_str).unwrap_or_default();
            lines.extend(text.lines().map(|line| format!("{mark}{line}")));
        }
    }
    lines
}
