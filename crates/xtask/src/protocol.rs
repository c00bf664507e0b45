//! Checks the protocol of `zot rpc` against captured sessions.
//!
//! The parts of the protocol come from its JSON Schema, so a new command, event or response without a
//! capture is reported.

mod captures;
mod round_trip;
#[cfg(test)]
mod tests;
mod validator;

use std::collections::BTreeSet;

use serde_json::Value;

pub use captures::{Capture, Direction, read_captures};

/// Returns what is missing from `captures` or does not match them.
pub fn problems(schema: &Value, captures: &[Capture]) -> Vec<String> {
    let mut problems = uncaptured(schema, captures);
    problems.extend(commands_without_response(schema));
    for capture in captures {
        problems.extend(mismatches(schema, capture));
    }
    problems
}

/// Returns the variants of `definition`, by the constant of their `field`.
fn variants(schema: &Value, definition: &str, field: &str) -> BTreeSet<String> {
    let definition = &schema["$defs"][definition];
    let choices = definition["oneOf"]
        .as_array()
        .or(definition["anyOf"].as_array());
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

/// Returns the commands without a response in the schema.
fn commands_without_response(schema: &Value) -> Vec<String> {
    let answered = variants(schema, "Response", "command");
    let commands = variants(schema, "Command", "type");
    let unanswered = commands.difference(&answered);
    unanswered
        .map(|command| format!("the schema has no response to {command}"))
        .collect()
}

/// Returns the frames of `capture` that do not match our types or our schema.
fn mismatches(schema: &Value, capture: &Capture) -> Vec<String> {
    let mut problems = Vec::new();
    for (direction, frame) in &capture.frames {
        if is_masked(frame) {
            continue;
        }
        let mut report = |problem: String| {
            problems.push(format!("{}: {problem}: {frame}", capture.name));
        };
        match direction {
            Direction::Received => {
                match round_trip::round_trip(frame) {
                    Ok(again) if again == *frame => {}
                    Ok(again) => report(format!("comes back as {again}")),
                    Err(error) => report(error.to_string()),
                }
                if let Err(problem) = validator::validate(schema, frame) {
                    report(format!("does not match the schema: {problem}"));
                }
            }
            // Some lines were sent to test refusals and leniency.
            Direction::Sent if round_trip::is_proper_command(frame) => {
                if let Err(problem) = validator::validate(schema, frame) {
                    report(format!("does not match the schema: {problem}"));
                }
            }
            Direction::Sent => {}
        }
    }
    problems
}

/// Returns whether a part that depends on timing was replaced with a placeholder.
fn is_masked(frame: &Value) -> bool {
    let placeholder = |field: &str| {
        frame[field]
            .as_str()
            .is_some_and(|text| text.starts_with('<'))
    };
    placeholder("content") || placeholder("data")
}
