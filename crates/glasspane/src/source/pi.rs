//! `pi --mode rpc` and `pi --mode json`: the events of pi's `docs/json.md` and `docs/rpc.md`.

use serde_json::Value;

use super::fields::{content, cost, count, http_status, owned, push, push_usage, text};
use super::{Dialect, Finding, Identity};
use crate::{CostBasis, Event, Kind, Retry, Usage, normalize};

/// Pi's events are almost the same as ours; its two modes differ only in responses and the header.
#[derive(Debug, Default)]
pub(super) struct Pi {
    used: Usage,
    step: u64,
    model: Option<String>,
    /// How the last run ended, until pi reports that it has settled: it may retry, compact the conversation, or
    /// continue with the next queued message.
    unsettled: Option<Ending>,
    working: bool,
    /// Whether the start of this run was reported.
    announced: bool,
    /// The error of the last turn.
    failure: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Over,
    Aborted,
    /// The same request will be sent again.
    Retried,
}

impl Dialect for Pi {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let message = object.get("message").unwrap_or(&Value::Null);
        match text(object, "type").unwrap_or("") {
            "session" => {
                findings.push(Finding::Identity(Identity {
                    cwd: owned(object, "cwd"),
                    ..Identity::default()
                }));
                // Only reported if a prompt was given at the start.
                self.announced = true;
                push(findings, Event::new(Kind::AgentStart));
            }
            "agent_start" => {
                if self.unsettled.take() != Some(Ending::Retried) {
                    self.step = 0;
                }
                self.working = true;
                if !std::mem::take(&mut self.announced) {
                    push(findings, Event::new(Kind::AgentStart));
                }
            }
            "agent_end" => self.agent_end(object, findings),
            "agent_settled" => {
                let aborted = object.get("aborted").and_then(Value::as_bool) == Some(true);
                self.settled(aborted, findings);
            }
            "turn_start" => {
                self.step += 1;
                push(findings, Event::turn_start(self.step));
            }
            "turn_end" => {
                let event = turn_end(message);
                let failed = event.stop.as_deref() == Some("error");
                self.failure = failed.then(|| event.message.clone().unwrap_or_default());
                push(findings, event);
            }
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
            // Not about the conversation.
            "queue_update"
            | "session_info_changed"
            | "thinking_level_changed"
            | "entry_appended"
            | "model_changed"
            | "bash_execution_start"
            | "bash_execution_update"
            | "bash_execution_end" => {}
            kind => push(findings, other(kind, object)),
        }
    }

    fn finish(&mut self, findings: &mut Vec<Finding>) {
        // Only the report that it has settled is missing.
        if matches!(self.unsettled, Some(Ending::Over | Ending::Aborted)) {
            self.settled(false, findings);
        }
    }
}

impl Pi {
    /// Versions that report whether they will retry also report when they have settled, which is the end.
    fn agent_end(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let messages = object.get("messages").and_then(Value::as_array);
        let last = messages.and_then(|messages| messages.last());
        let stop = last.and_then(|message| text(message, "stopReason"));
        let retried = object.get("willRetry").and_then(Value::as_bool);
        self.unsettled = Some(match (retried, stop) {
            (Some(true), _) => Ending::Retried,
            (_, Some("aborted")) => Ending::Aborted,
            _ => Ending::Over,
        });
        if retried.is_none() {
            self.settled(false, findings);
        }
    }

    fn settled(&mut self, aborted: bool, findings: &mut Vec<Finding>) {
        let ending = self.unsettled.take();
        if !std::mem::take(&mut self.working) && ending.is_none() {
            return;
        }
        let failure = self.failure.take();
        if aborted || ending == Some(Ending::Aborted) {
            return push(findings, Event::aborted());
        }
        if let Some(message) = failure {
            push(findings, Event::error(message));
        }
        push(findings, Event::new(Kind::AgentEnd));
    }

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
            let sums = usage.get("cost").unwrap_or(&Value::Null);
            let dollars = cost(sums, "total");
            let is_estimate = sums.get("totalFromProvider").and_then(Value::as_bool) == Some(false);
            let basis = match is_estimate {
                true => CostBasis::Estimated,
                false => CostBasis::Reported,
            };
            self.used.add(
                &Usage {
                    input_tokens: count(usage, "input"),
                    output_tokens: count(usage, "output"),
                    cache_read_tokens: count(usage, "cacheRead"),
                    cache_write_tokens: count(usage, "cacheWrite"),
                    ..Usage::default()
                }
                .with_cost(dollars, basis),
            );
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
        // Tool results, which were already reported, and pi's own entries.
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
        // Starts and ends of blocks; tool calls start when they run.
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

/// Handles a question of an extension to the user. The response goes to pi's input, which is not read.
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
    if matches!(kind, "auto_retry_start" | "summarization_retry_start") {
        let number = |name: &str| object.get(name).and_then(Value::as_u64);
        let retry = Retry {
            attempt: number("attempt"),
            max_attempts: number("maxAttempts"),
            delay_ms: number("delayMs"),
            status: error.and_then(http_status),
        };
        return Event {
            raw_type: Some(kind.to_owned()),
            ..Event::retry(retry, error.unwrap_or("retrying"))
        };
    }
    let message = match kind {
        "auto_compaction_start" | "compaction_start" => "compacting the conversation".to_owned(),
        "auto_compaction_end" | "compaction_end" => {
            error.unwrap_or("the conversation was compacted").to_owned()
        }
        "auto_retry_end" | "summarization_retry_end" => {
            error.unwrap_or("the retry succeeded").to_owned()
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
