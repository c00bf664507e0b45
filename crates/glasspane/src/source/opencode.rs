//! `opencode run --format json`: parts of messages once they are complete.

use serde_json::Value;

use super::fields::{cost, count, owned, push, push_usage, text};
use super::steps::Steps;
use super::{Dialect, Finding};
use crate::{CostBasis, Event, Usage};

/// A step of opencode is a turn. Only the reason of the last step marks the end.
#[derive(Debug, Default)]
pub(super) struct Opencode {
    steps: Steps,
    used: Usage,
}

impl Dialect for Opencode {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let part = object.get("part").unwrap_or(&Value::Null);
        match text(object, "type").unwrap_or("") {
            "step_start" => self.steps.act(findings),
            "text" => {
                self.steps.act(findings);
                push(findings, Event::answer(text(part, "text").unwrap_or("")));
            }
            "reasoning" => {
                self.steps.act(findings);
                let thought = text(part, "text").unwrap_or("");
                push(
                    findings,
                    Event {
                        whole: true,
                        ..Event::thought(thought)
                    },
                );
            }
            "tool_use" => self.tool(part, findings),
            "step_finish" => self.step_finish(part, findings),
            "error" => self.error(object.get("error").unwrap_or(&Value::Null), findings),
            kind => push(findings, Event::unknown(kind)),
        }
    }
}

impl Opencode {
    /// Handles a tool, which is reported when it is complete. The step ends with a separate line.
    fn tool(&mut self, part: &Value, findings: &mut Vec<Finding>) {
        let id = text(part, "callID").unwrap_or("");
        let state = part.get("state").unwrap_or(&Value::Null);
        self.steps.act(findings);
        push(
            findings,
            Event::tool_start(id, text(part, "tool").unwrap_or("?")),
        );
        if let Some(input) = state.get("input") {
            push(findings, Event::tool_arguments(id, input.to_string()));
        }
        let exit = state.pointer("/metadata/exit").and_then(Value::as_i64);
        let failed = text(state, "status") == Some("error") || exit.is_some_and(|code| code != 0);
        let output = text(state, "output").or_else(|| text(state, "error"));
        push(findings, Event::tool_end(id, output.unwrap_or(""), failed));
    }

    fn step_finish(&mut self, part: &Value, findings: &mut Vec<Finding>) {
        if let Some(tokens) = part.get("tokens") {
            self.used
                .add(&read_usage(tokens).with_cost(cost(part, "cost"), CostBasis::Reported));
            push_usage(findings, self.used);
        }
        let reason = text(part, "reason").unwrap_or("stop");
        match reason {
            "tool-calls" => self.steps.end_turn("tool_use", findings),
            // Opencode calls the model again.
            "unknown" => self.steps.end_turn(reason, findings),
            "stop" => self.steps.done("end", findings),
            other => self.steps.done(other, findings),
        }
    }

    fn error(&mut self, error: &Value, findings: &mut Vec<Finding>) {
        let name = text(error, "name").unwrap_or("");
        let detail = error.pointer("/data/message").and_then(Value::as_str);
        let message = detail.or_else(|| text(error, "message"));
        if name.contains("Abort") {
            return self.steps.aborted(findings);
        }
        let status = error.pointer("/data/statusCode").and_then(Value::as_u64);
        let message =
            message.map_or_else(|| owned(error, "name"), |message| Some(message.to_owned()));
        let message = message.unwrap_or_else(|| "failed".to_owned());
        let message = match status {
            Some(status) if !message.contains(&status.to_string()) => {
                format!("{message} (status {status})")
            }
            _ => message,
        };
        self.steps.failed(&message, findings);
    }
}

/// Reads the usage of one step. Thinking is counted separately from the output.
fn read_usage(tokens: &Value) -> Usage {
    let cache = tokens.get("cache").unwrap_or(&Value::Null);
    Usage {
        input_tokens: count(tokens, "input"),
        output_tokens: count(tokens, "output").saturating_add(count(tokens, "reasoning")),
        cache_read_tokens: count(cache, "read"),
        cache_write_tokens: count(cache, "write"),
        ..Usage::default()
    }
}
