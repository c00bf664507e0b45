//! `claude -p --output-format stream-json --verbose`, with or without `--include-partial-messages`, and `qwen`, which
//! prints the same format except for a few fields.
//!
//! Claude Code reports messages, not turns: a model call is one message id, whose blocks arrive as separate
//! lines, and which ends when it is reported or when a tool result arrives. The lines of agents it starts
//! are mixed in, with the id of the call that started them.

mod children;
mod conversation;
mod stream;

use std::collections::HashMap;

use serde_json::Value;

use super::fields::{owned, push, push_usage, text};
use super::{Dialect, Finding, Identity};
use crate::{Event, Kind, MAX_OPEN_TOOLS, Retry};
use children::Children;
use conversation::Conversation;

pub use children::MAX_CHILDREN;

/// The start of the line that reports an interruption by the user.
const INTERRUPTED: &str = "[Request interrupted by user";

/// The start of the line that reports a background agent to the model.
const TASK_NOTIFICATION: &str = "<task-notification>";

#[derive(Debug, Default)]
pub(super) struct ClaudeCode {
    main: Conversation,
    children: Children,
    /// The tools that requests to the client are about.
    requests: HashMap<String, String>,
    /// Whether a message of this prompt was aborted.
    aborted: bool,
    /// How the last prompt ended, if nothing has happened since.
    over: Option<Ending>,
    /// Whether the prompt waits for the reports of background agents.
    waiting: bool,
}

impl Dialect for ClaudeCode {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let parent = text(object, "parent_tool_use_id");
        match (text(object, "type").unwrap_or(""), parent) {
            ("assistant" | "user" | "stream_event", Some(parent)) => {
                self.children.message(parent, object, findings);
            }
            ("system", _) => self.system(object, findings),
            ("assistant", None) => self.assistant(object, findings),
            ("user", None) => self.user(object, findings),
            ("stream_event", None) => {
                if let Some(event) = object.get("event") {
                    if text(event, "type") == Some("message_start") {
                        self.resume(findings);
                    }
                    self.main.stream(event, findings);
                }
            }
            ("result", _) => self.result(object, findings),
            ("control_request", _) => self.permission_asked(object, findings),
            ("control_cancel_request", _) => self.permission_withdrawn(object, findings),
            ("tool_progress", _) => self.main.progress(object, findings),
            ("rate_limit_event", _) => push(
                findings,
                Event {
                    raw_type: Some("rate_limit_event".to_owned()),
                    ..Event::notice("the rate limit was reported")
                },
            ),
            (
                "control_response" | "keep_alive" | "tool_use_summary" | "auth_status"
                | "prompt_suggestion",
                _,
            ) => {}
            (kind, _) => push(findings, Event::unknown(kind)),
        }
    }

    fn finish(&mut self, findings: &mut Vec<Finding>) {
        // The prompt is done; only background agents were cut off.
        if std::mem::take(&mut self.waiting) {
            push(findings, Event::new(Kind::AgentEnd));
        }
    }
}

impl ClaudeCode {
    fn system(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "subtype").unwrap_or("") {
            "init" => {
                findings.push(Finding::Identity(Identity {
                    model: owned(object, "model"),
                    cwd: owned(object, "cwd"),
                    ..Identity::default()
                }));
                self.start_prompt(findings);
            }
            "api_retry" => push(findings, retry(object)),
            "compact_boundary" => push(findings, Event::notice("the conversation was compacted")),
            subtype @ ("task_started" | "task_progress" | "task_updated" | "task_notification") => {
                self.children.task(subtype, object, findings);
                // A report resumes the agent; there is none when the last child was stopped.
                if self.waiting && self.children.last_was_stopped() {
                    self.waiting = false;
                    self.over = Some(Ending::Done);
                    push(findings, Event::new(Kind::AgentEnd));
                }
            }
            // Signs of life.
            "status"
            | "thinking_tokens"
            | "hook_started"
            | "hook_response"
            | "hook_progress"
            | "session_state_changed"
            | "background_tasks_changed"
            | "files_persisted"
            | "elicitation_complete" => {}
            other => push(
                findings,
                Event {
                    raw_type: Some(format!("system/{other}")),
                    ..Event::notice(text(object, "message").unwrap_or(other))
                },
            ),
        }
    }

    fn start_prompt(&mut self, findings: &mut Vec<Finding>) {
        if !std::mem::take(&mut self.waiting) {
            self.main.step = 0;
        }
        self.over = None;
        self.aborted = false;
        push(findings, Event::new(Kind::AgentStart));
    }

    /// Starts the prompt again if it was over: the report of a background agent may start another turn
    /// without any other sign.
    fn resume(&mut self, findings: &mut Vec<Finding>) {
        if self.over.is_some() || self.waiting {
            self.start_prompt(findings);
        }
    }

    fn assistant(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        self.resume(findings);
        self.aborted |= object.get("aborted").and_then(Value::as_bool) == Some(true);
        self.main.assistant(object, findings);
        let blocks = object.pointer("/message/content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            self.children.note_call(block);
        }
    }

    fn user(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let ended = self.main.results(object, findings);
        for id in &ended {
            self.requests.retain(|_, tool| tool != id);
            self.children.call_ended(id, object, findings);
        }
        if !ended.is_empty() {
            return;
        }
        let message = conversation::message_text(object);
        if message.starts_with(INTERRUPTED) {
            self.aborted = true;
            return push(findings, Event::notice(message));
        }
        let flag = |name: &str| object.get(name).and_then(Value::as_bool) == Some(true);
        if flag("isSynthetic") || flag("isMeta") || message.starts_with(TASK_NOTIFICATION) {
            return push(findings, Event::notice(message));
        }
        push(findings, Event::prompt(message));
    }

    fn result(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        self.main.count_result(object);
        push_usage(findings, self.main.used());
        let ending = self.ending(object);
        self.main.end_turn(ending.stop(), findings);
        self.main.forget();
        self.requests.clear();
        let running = self.children.in_background();
        if ending == Ending::Done && running > 0 {
            self.waiting = true;
            let message = format!("waiting for background agents: {running}");
            return push(findings, Event::notice(message));
        }
        self.waiting = false;
        match self.over {
            // The same result again.
            Some(before) if before == ending => return,
            Some(_) => self.start_prompt(findings),
            None => {}
        }
        self.over = Some(ending);
        match ending {
            Ending::Done => push(findings, Event::new(Kind::AgentEnd)),
            Ending::Aborted => push(findings, Event::aborted()),
            Ending::Failed => {
                push(findings, Event::error(failure(object)));
                push(findings, Event::new(Kind::AgentEnd));
            }
        }
    }

    /// An interruption is reported as an error; the reason distinguishes them.
    fn ending(&self, object: &Value) -> Ending {
        let subtype = text(object, "subtype").unwrap_or("success");
        let failed = object.get("is_error").and_then(Value::as_bool) == Some(true)
            || subtype.starts_with("error");
        let reason = text(object, "terminal_reason").unwrap_or("");
        let cancelled = failed && failure(object).starts_with("Operation cancelled");
        if reason.starts_with("aborted")
            || matches!(reason, "interrupted" | "cancelled")
            || (failed && self.aborted)
            || cancelled
        {
            return Ending::Aborted;
        }
        match failed {
            true => Ending::Failed,
            false => Ending::Done,
        }
    }

    /// Handles a permission request to the client. The response goes to the agent's input, which is not read.
    fn permission_asked(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let request = object.get("request").unwrap_or(&Value::Null);
        if text(request, "subtype") != Some("can_use_tool") {
            return;
        }
        let tool_id = owned(request, "tool_use_id");
        if let (Some(request_id), Some(tool_id)) = (owned(object, "request_id"), &tool_id)
            && self.requests.len() < MAX_OPEN_TOOLS
        {
            self.requests.insert(request_id, tool_id.clone());
        }
        let event = Event {
            tool_id,
            tool_name: owned(request, "tool_name"),
            text: request.get("input").map(Value::to_string),
            whole: true,
            ..Event::new(Kind::ApprovalRequest)
        };
        self.children.route(event, findings);
    }

    fn permission_withdrawn(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let request = text(object, "request_id").unwrap_or("");
        if let Some(tool_id) = self.requests.remove(request) {
            let event = Event {
                tool_id: Some(tool_id),
                ..Event::new(Kind::ApprovalEnd)
            };
            self.children.route(event, findings);
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Done,
    Aborted,
    Failed,
}

impl Ending {
    fn stop(self) -> &'static str {
        match self {
            Self::Done => "end",
            Self::Aborted => "aborted",
            Self::Failed => "error",
        }
    }
}

fn failure(object: &Value) -> &str {
    let errors = object.get("errors").and_then(Value::as_array);
    let first = errors.and_then(|errors| errors.first()?.as_str());
    let message = object.pointer("/error/message").and_then(Value::as_str);
    let subtype = text(object, "subtype").unwrap_or("failed");
    text(object, "result")
        .or(message)
        .or(first)
        .unwrap_or(subtype)
}

fn retry(object: &Value) -> Event {
    let number = |name: &str| object.get(name).and_then(Value::as_u64);
    let retry = Retry {
        attempt: number("attempt"),
        max_attempts: number("max_retries"),
        status: number("error_status"),
        delay_ms: number("retry_delay_ms"),
    };
    Event::retry(retry, text(object, "error").unwrap_or("retrying"))
}
