//! The protocol of `zot rpc` against the sessions that were captured of it.
//!
//! What the protocol has is read from its JSON Schema, so a new command, event or response that no
//! capture shows is noticed without anybody remembering to list it.

mod captures;
mod round_trip;
#[cfg(test)]
mod tests;
mod validator;

use std::collections::BTreeSet;

use serde_json::Value;

pub use captures::{Capture, Direction, read_captures};

/// What is missing from `captures` or does not fit them.
pub fn complaints(schema: &Value, captures: &[Capture]) -> Vec<String> {
    let mut complaints = uncaptured(schema, captures);
    complaints.extend(unanswered_commands(schema));
    for capture in captures {
        complaints.extend(misfits(schema, capture));
    }
    complaints
}

/// The variants of `definition`, by the constant of their `field`.
fn variants(schema: &Value, definition: &str, field: &str) -> BTreeSet<String> {
    let choices = schema["$defs"][definition]["oneOf"].as_array();
    let choices = choices.into_iter().flatten();
    let constants = choices.filter_map(|choice| {
        let choice = validator::resolve(schema, choice);
        choice["properties"][field]["const"].as_str()
    });
    constants.map(str::to_owned).collect()
}

fn uncaptured(schema: &Value, captures: &[Capture]) -> Vec<String> {
    let seen = |direction: Direction, matches: &dyn Fn(&Value) -> bool| {
        captures.iter().any(|capture| {
            capture
                .frames
                .iter()
                .any(|(line, frame)| *line == direction && matches(frame))
        })
    };
    let mut missing = Vec::new();
    for command in variants(schema, "Command", "type") {
        if !seen(Direction::Sent, &|frame| frame["type"] == *command) {
            missing.push(format!("no capture sends the command {command}"));
        }
    }
    for event in variants(schema, "Event", "type") {
        if !seen(Direction::Received, &|frame| frame["type"] == *event) {
            missing.push(format!("no capture shows the event {event}"));
        }
    }
    let is_response = |frame: &Value| frame["type"] == "response";
    for command in variants(schema, "Response", "command") {
        let answered = |frame: &Value| {
            is_response(frame) && frame["command"] == *command && frame["success"] == true
        };
        if !seen(Direction::Received, &answered) {
            missing.push(format!("no capture shows the response to {command}"));
        }
    }
    if !seen(Direction::Received, &|frame| {
        is_response(frame) && frame["success"] == false
    }) {
        missing.push("no capture shows a failure".to_owned());
    }
    missing
}

/// Commands for which the schema does not say what they are answered with.
fn unanswered_commands(schema: &Value) -> Vec<String> {
    let answered = variants(schema, "Response", "command");
    let commands = variants(schema, "Command", "type");
    let unanswered = commands.difference(&answered);
    unanswered
        .map(|command| format!("the schema has no response to {command}"))
        .collect()
}

/// The frames of `capture` that our types or our schema cannot express.
fn misfits(schema: &Value, capture: &Capture) -> Vec<String> {
    let mut complaints = Vec::new();
    for (direction, frame) in &capture.frames {
        if is_masked(frame) {
            continue;
        }
        let mut complain = |problem: String| {
            complaints.push(format!("{}: {problem}: {frame}", capture.name));
        };
        match direction {
            Direction::Received => {
                match round_trip::round_trip(frame) {
                    Ok(again) if again == *frame => {}
                    Ok(again) => complain(format!("comes back as {again}")),
                    Err(error) => complain(error.to_string()),
                }
                if let Err(problem) = validator::validate(schema, frame) {
                    complain(format!("does not fit the schema: {problem}"));
                }
            }
            // Some lines were sent to be refused, or to see what is forgiven.
            Direction::Sent if round_trip::is_proper_command(frame) => {
                if let Err(problem) = validator::validate(schema, frame) {
                    complain(format!("does not fit the schema: {problem}"));
                }
            }
            Direction::Sent => {}
        }
    }
    complaints
}

/// Whether a part that depends on timing was replaced by a placeholder of another type.
fn is_masked(frame: &Value) -> bool {
    let placeholder = |field: &str| {
        frame[field]
            .as_str()
            .is_some_and(|text| text.starts_with('<'))
    };
    placeholder("content") || placeholder("data")
}
