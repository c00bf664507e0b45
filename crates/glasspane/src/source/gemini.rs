//! `gemini -o stream-json`: the events of gemini-cli's `output/types.ts`.

use serde_json::Value;

use super::fields::{count, input_and_cache, owned, push, push_usage, text};
use super::steps::{PendingMessage, Steps};
use super::{Dialect, Finding, Identity};
use crate::{Event, Usage};

/// The error that gemini reports for an interruption.
const CANCELLED: &str = "FatalCancellationError";

#[derive(Debug, Default)]
pub(super) struct Gemini {
    steps: Steps,
    /// The model's text since the last tool, which arrives in deltas and is never reported as a whole.
    pending: PendingMessage,
}

impl Dialect for Gemini {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "type").unwrap_or("") {
            "init" => {
                findings.push(Finding::Identity(Identity {
                    model: owned(object, "model"),
                    ..Identity::default()
                }));
                self.steps.begin(findings);
            }
            "message" => self.message(object, findings),
            "tool_use" => {
                self.pending.finish(findings);
                let id = text(object, "tool_id").unwrap_or("");
                let name = text(object, "tool_name").unwrap_or("?");
                self.steps.start_tool(id, name, findings);
                if let Some(parameters) = object.get("parameters") {
                    push(findings, Event::tool_arguments(id, parameters.to_string()));
                }
            }
            "tool_result" => {
                let id = text(object, "tool_id").unwrap_or("");
                let failed = text(object, "status") == Some("error");
                let error = object.pointer("/error/message").and_then(Value::as_str);
                let output = text(object, "output").or(error).unwrap_or("");
                self.steps.end_tool(id, output, failed, findings);
            }
            // The result reports what ended the work.
            "error" => push(
                findings,
                Event {
                    is_error: (text(object, "severity") != Some("warning")).then_some(true),
                    ..Event::notice(text(object, "message").unwrap_or("error"))
                },
            ),
            "result" => self.result(object, findings),
            kind => push(findings, Event::unknown(kind)),
        }
    }
}

impl Gemini {
    fn message(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let content = text(object, "content").unwrap_or("");
        if text(object, "role") == Some("user") {
            self.steps.prompt(content, findings);
            return;
        }
        self.steps.act(findings);
        if object.get("delta").and_then(Value::as_bool) == Some(true) {
            self.pending.push(content, findings);
        } else {
            self.pending.finish(findings);
            push(findings, Event::answer(content));
        }
    }

    fn result(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        self.pending.finish(findings);
        if let Some(stats) = object.get("stats") {
            push_usage(findings, read_usage(stats));
        }
        if text(object, "status") != Some("error") {
            return self.steps.done("end", findings);
        }
        let error_field = |path: &str| object.pointer(path).and_then(Value::as_str);
        if error_field("/error/type") == Some(CANCELLED) {
            return self.steps.aborted(findings);
        }
        let message = error_field("/error/message").unwrap_or("failed");
        self.steps.failed(message, findings);
    }
}

/// Reads the usage of the whole session. Thinking is only part of the total.
fn read_usage(stats: &Value) -> Usage {
    let input = count(stats, "input_tokens");
    let output = count(stats, "output_tokens");
    let thoughts = count(stats, "total_tokens").saturating_sub(input.saturating_add(output));
    let (input_tokens, cache_read_tokens) = input_and_cache(input, count(stats, "cached"));
    Usage {
        input_tokens,
        output_tokens: output.saturating_add(thoughts),
        cache_read_tokens,
        ..Usage::default()
    }
}
