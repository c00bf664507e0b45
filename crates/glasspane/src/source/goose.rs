//! `goose run --output-format stream-json`: a greeting in plain text, then messages of content blocks.

use serde_json::Value;

use super::fields::{content, count, owned, push, push_usage, text};
use super::steps::{PendingMessage, Steps};
use super::{Dialect, Finding, Identity};
use crate::{Event, Kind, Usage};

/// Goose's error when it was interrupted.
const INTERRUPTED: &str = "Headless run interrupted";

/// The beginning and end of provider errors that goose puts into a message.
const FAILURE_BEGIN: &str = "Ran into this error: ";
const FAILURE_END: &str = "Please retry if you think this is a transient or recoverable error.";

#[derive(Debug, Default)]
pub(super) struct Goose {
    steps: Steps,
    model: Option<String>,
    /// The id of the message that is arriving in deltas.
    message: Option<String>,
    pending: PendingMessage,
    /// A failure reported in a message: the end follows, or an error that repeats it.
    failure: Option<String>,
    /// Whether the last prompt failed: goose may report the failure again.
    ended: bool,
}

impl Dialect for Goose {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "type").unwrap_or("") {
            "message" => match object.get("message") {
                Some(message) => self.message(message, findings),
                None => push(findings, Event::unknown("message")),
            },
            "complete" => self.complete(object, findings),
            "error" => self.error(object, findings),
            "notification" => push(findings, notification(object)),
            "model_change" => self.model(owned(object, "model"), findings),
            kind => push(findings, Event::unknown(kind)),
        }
    }

    /// Reads the greeting: its name and its directory.
    fn read_text(&mut self, line: &str, findings: &mut Vec<Finding>) -> bool {
        if self.steps.has_acted() {
            return false;
        }
        if let Some((_, session)) = line.split_once("session \u{b7} ") {
            self.model(
                session.split_whitespace().last().map(str::to_owned),
                findings,
            );
        } else if let Some((_, directory)) = line.split_once(" \u{b7} /") {
            findings.push(Finding::Identity(Identity {
                cwd: Some(format!("/{}", directory.trim())),
                ..Identity::default()
            }));
        }
        self.steps.begin(findings);
        true
    }

    fn finish(&mut self, findings: &mut Vec<Finding>) {
        if let Some(message) = self.failure.take() {
            self.fail(&message, findings);
        }
    }
}

impl Goose {
    fn model(&mut self, model: Option<String>, findings: &mut Vec<Finding>) {
        if model.is_some() && model != self.model {
            self.model.clone_from(&model);
            findings.push(Finding::Identity(Identity {
                model,
                ..Identity::default()
            }));
        }
    }

    fn message(&mut self, message: &Value, findings: &mut Vec<Finding>) {
        let model = message.pointer("/metadata/inference/requestedModel");
        self.model(model.and_then(Value::as_str).map(str::to_owned), findings);
        let assistant = text(message, "role") == Some("assistant");
        let id = owned(message, "id");
        if assistant && id != self.message {
            self.pending.finish(findings);
            self.message = id;
        }
        let blocks = message.get("content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            self.block(block, assistant, findings);
        }
    }

    fn block(&mut self, block: &Value, assistant: bool, findings: &mut Vec<Finding>) {
        let id = text(block, "id").unwrap_or("");
        match text(block, "type").unwrap_or("") {
            "text" => self.text(text(block, "text").unwrap_or(""), assistant, findings),
            "thinking" | "reasoning" => {
                self.steps.act(findings);
                let thought = text(block, "thinking").or_else(|| text(block, "text"));
                push(findings, Event::thought(thought.unwrap_or("")));
            }
            "toolRequest" | "frontendToolRequest" => {
                self.pending.finish(findings);
                let call = block.pointer("/toolCall/value").unwrap_or(&Value::Null);
                self.steps
                    .start_tool(id, text(call, "name").unwrap_or("?"), findings);
                if let Some(arguments) = call.get("arguments") {
                    push(findings, Event::tool_arguments(id, arguments.to_string()));
                }
            }
            "toolResponse" => {
                let (output, failed) = tool_result(block);
                self.steps.end_tool(id, output, failed, findings);
                self.message = None;
            }
            "toolConfirmationRequest" => self.approval(block, id, findings),
            "actionRequired" => self.approval(block.get("data").unwrap_or(block), id, findings),
            "error" => {
                self.failure = Some(text(block, "message").unwrap_or("failed").to_owned());
            }
            "systemNotification" => {
                push(findings, Event::notice(text(block, "msg").unwrap_or("")));
            }
            "image" | "redactedThinking" => {}
            other => push(findings, Event::unknown(format!("message/{other}"))),
        }
    }

    fn text(&mut self, text: &str, assistant: bool, findings: &mut Vec<Finding>) {
        if !assistant {
            return self.steps.prompt(text, findings);
        }
        if text.starts_with(FAILURE_BEGIN) && text.trim_end().ends_with(FAILURE_END) {
            self.failure = Some(text.to_owned());
            return;
        }
        self.steps.act(findings);
        self.pending.push(text, findings);
    }

    fn approval(&mut self, request: &Value, block_id: &str, findings: &mut Vec<Finding>) {
        let id = text(request, "id").unwrap_or(block_id);
        let name = text(request, "toolName");
        push(
            findings,
            Event {
                tool_id: self.steps.is_open(id).then(|| id.to_owned()),
                tool_name: name.map(str::to_owned),
                text: request.get("arguments").map(Value::to_string),
                whole: true,
                message: owned(request, "prompt").or_else(|| owned(request, "message")),
                ..Event::new(Kind::ApprovalRequest)
            },
        );
    }

    /// Handles the end. The counts are of all calls since the start.
    fn complete(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        self.pending.finish(findings);
        push_usage(findings, read_usage(object));
        match self.failure.take() {
            Some(message) => self.fail(&message, findings),
            None => self.steps.done("end", findings),
        }
    }

    fn error(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        self.pending.finish(findings);
        let message = text(object, "error").or_else(|| text(object, "message"));
        let message = message.unwrap_or("failed");
        self.failure = None;
        if message.starts_with(INTERRUPTED) {
            self.steps.aborted(findings);
        } else if self.steps.is_working() || !self.ended {
            self.fail(message, findings);
        }
    }

    fn fail(&mut self, message: &str, findings: &mut Vec<Finding>) {
        self.steps.failed(message, findings);
        self.ended = true;
    }
}

/// Returns the output of a tool, and whether the call or the program it ran failed.
fn tool_result(block: &Value) -> (String, bool) {
    let result = block.get("toolResult").unwrap_or(&Value::Null);
    if text(result, "status") == Some("error") {
        return (text(result, "error").unwrap_or("failed").to_owned(), true);
    }
    let value = result.get("value").unwrap_or(&Value::Null);
    let blocks = value.get("content").unwrap_or(value);
    let exit_code = value.pointer("/structuredContent/exit_code");
    let failed = value.get("isError").and_then(Value::as_bool) == Some(true)
        || exit_code
            .and_then(Value::as_i64)
            .is_some_and(|code| code != 0);
    (content(Some(blocks)), failed)
}

fn notification(object: &Value) -> Event {
    let message = object
        .pointer("/log/message")
        .or_else(|| object.pointer("/progress/message"))
        .or_else(|| object.get("message"))
        .and_then(Value::as_str);
    let from = text(object, "extension_id").unwrap_or("extension");
    Event::notice(match message {
        Some(message) => format!("{from}: {message}"),
        None => from.to_owned(),
    })
}

fn read_usage(object: &Value) -> Usage {
    let (read, write) = (
        count(object, "cache_read_input_tokens"),
        count(object, "cache_write_input_tokens"),
    );
    let (input, output) = (
        count(object, "input_tokens"),
        count(object, "output_tokens"),
    );
    // Most providers include cached tokens in the input, which the total shows.
    let included = count(object, "total_tokens") == input.saturating_add(output);
    Usage {
        input_tokens: match included {
            true => input.saturating_sub(read.saturating_add(write)),
            false => input,
        },
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        ..Usage::default()
    }
}
