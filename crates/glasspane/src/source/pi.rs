//! `pi --mode rpc` and `pi --mode json`: the events of pi's `docs/json.md` and `docs/rpc.md`.

use serde_json::Value;

use super::fields::{content, cost, count, owned, push, push_usage, text};
use super::{Dialect, Finding, Identity};
use crate::{Event, Kind, Usage, normalize};

/// Pi speaks in almost our words; both its modes say the same but for responses and the header.
#[derive(Debug, Default)]
pub(super) struct Pi {
    used: Usage,
    step: u64,
    model: Option<String>,
}

impl Dialect for Pi {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let message = object.get("message").unwrap_or(&Value::Null);
        match text(object, "type").unwrap_or("") {
            "session" => findings.push(Finding::Identity(Identity {
                cwd: owned(object, "cwd"),
                ..Identity::default()
            })),
            "agent_start" => {
                self.step = 0;
                push(findings, Event::new(Kind::AgentStart));
            }
            "agent_end" => push(findings, Event::new(Kind::AgentEnd)),
            "turn_start" => {
                self.step += 1;
                push(findings, Event::turn_start(self.step));
            }
            "turn_end" => push(findings, turn_end(message)),
            "message_start" => message_start(message, findings),
            "message_update" => message_update(object, findings),
            "message_end" => self.message_end(message, findings),
            "tool_execution_start" => tool_start(object, findings),
            "tool_execution_update" => push(
                findings,
                Event {
                    // Pi repeats everything from the beginning.
                    whole: true,
                    ..Event::tool_output(id(object), result(object, "partialResult"))
                },
            ),
            "tool_execution_end" => {
                let failed = object.get("isError").and_then(Value::as_bool) == Some(true);
                push(
                    findings,
                    Event::tool_end(id(object), result(object, "result"), failed),
                );
            }
            "extension_ui_request" => ui_request(object, findings),
            "response" => findings.extend(normalize(object).map(Finding::Event)),
            // What a front end shows beside the conversation.
            "queue_update"
            | "session_info_changed"
            | "thinking_level_changed"
            | "agent_settled"
            | "bash_execution_update" => {}
            kind => push(findings, other(kind, object)),
        }
    }
}

impl Pi {
    fn message_end(&mut self, message: &Value, findings: &mut Vec<Finding>) {
        if text(message, "role") != Some("assistant") {
            return;
        }
        push(findings, Event::answer(content(message.get("content"))));
        let model = owned(message, "model");
        if model.is_some() && model != self.model {
            self.model.clone_from(&model);
            findings.push(Finding::Identity(Identity {
                model,
                ..Identity::default()
            }));
        }
        if let Some(usage) = message.get("usage") {
            self.used.add(&Usage {
                input_tokens: count(usage, "input"),
                output_tokens: count(usage, "output"),
                cache_read_tokens: count(usage, "cacheRead"),
                cache_write_tokens: count(usage, "cacheWrite"),
                cost_usd: usage.get("cost").map_or(0.0, |sums| cost(sums, "total")),
            });
            push_usage(findings, self.used);
        }
    }
}

fn turn_end(message: &Value) -> Event {
    let stop = match text(message, "stopReason") {
        Some("stop") | None => "end",
        Some("toolUse") => "tool_use",
        Some(other) => other,
    };
    Event {
        message: owned(message, "errorMessage"),
        ..Event::turn_end(stop)
    }
}

fn message_start(message: &Value, findings: &mut Vec<Finding>) {
    match text(message, "role") {
        Some("user") => push(findings, Event::prompt(content(message.get("content")))),
        Some("assistant") => push(
            findings,
            Event {
                role: Some("assistant".to_owned()),
                ..Event::new(Kind::MessageStart)
            },
        ),
        // Results of tools, which were told before, and entries of pi's own.
        _ => {}
    }
}

fn message_update(object: &Value, findings: &mut Vec<Finding>) {
    let Some(piece) = object.get("assistantMessageEvent") else {
        return;
    };
    let delta = text(piece, "delta").unwrap_or("");
    match text(piece, "type") {
        Some("text_delta") => push(findings, Event::piece("assistant", delta)),
        Some("thinking_delta") => push(findings, Event::thought(delta)),
        // Beginnings and ends of blocks; calls start when they run.
        _ => {}
    }
}

fn tool_start(object: &Value, findings: &mut Vec<Finding>) {
    let name = text(object, "toolName").unwrap_or("?");
    push(findings, Event::tool_start(id(object), name));
    if let Some(arguments) = object.get("args") {
        push(
            findings,
            Event::tool_arguments(id(object), arguments.to_string()),
        );
    }
}

/// Extensions ask the user through the client. The answer goes to pi's input, where we do not see it.
fn ui_request(object: &Value, findings: &mut Vec<Finding>) {
    let message = text(object, "title").or_else(|| text(object, "message"));
    match text(object, "method") {
        Some("select" | "confirm" | "input" | "editor") => push(
            findings,
            Event {
                message: message.map(str::to_owned),
                ..Event::new(Kind::ApprovalRequest)
            },
        ),
        Some("notify") => push(findings, Event::notice(message.unwrap_or(""))),
        // Status lines, widgets, titles.
        _ => {}
    }
}

fn other(kind: &str, object: &Value) -> Event {
    let error = text(object, "errorMessage")
        .or_else(|| text(object, "finalError"))
        .or_else(|| text(object, "error"));
    let message = match kind {
        "auto_compaction_start" | "compaction_start" => "compacting the conversation".to_owned(),
        "auto_compaction_end" | "compaction_end" => {
            error.unwrap_or("the conversation was compacted").to_owned()
        }
        "auto_retry_start" | "summarization_retry_start" => format!(
            "attempt {} of {}: {}",
            count(object, "attempt"),
            count(object, "maxAttempts"),
            error.unwrap_or("trying again")
        ),
        "auto_retry_end" | "summarization_retry_end" => {
            error.unwrap_or("trying again has helped").to_owned()
        }
        "extension_error" => format!(
            "{}: {}",
            text(object, "extensionPath").unwrap_or("extension"),
            error.unwrap_or("failed")
        ),
        _ => return Event::unknown(kind),
    };
    Event {
        raw_type: Some(kind.to_owned()),
        is_error: error.is_some().then_some(true),
        ..Event::notice(message)
    }
}

fn id(object: &Value) -> &str {
    text(object, "toolCallId").unwrap_or("")
}

fn result(object: &Value, name: &str) -> String {
    content(object.get(name).and_then(|result| result.get("content")))
}
