//! `claude -p --output-format stream-json --verbose`, with or without `--include-partial-messages`.
//!
//! Claude Code tells of messages, not of turns: a call of the model is one message id, whose blocks
//! come as lines of their own, and which ends when it says so or when a result of a tool comes.

mod stream;

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::fields::{content, cost, count, owned, push, push_usage, text};
use super::{Dialect, Finding, Identity};
use crate::{Event, Kind, MAX_OPEN_TOOLS, Usage};

#[derive(Debug, Default)]
pub(super) struct ClaudeCode {
    /// Of the queries that are over, and of the one at hand so far.
    finished: Usage,
    current: Usage,
    /// The last message that was counted: every line of it repeats its usage.
    message: Option<String>,
    last_usage: Usage,
    step: u64,
    turn_open: bool,
    /// Tools that run.
    open: HashSet<String>,
    /// The tools of the message that streams, by the index of their block.
    blocks: HashMap<u64, String>,
    /// The tools that requests to the client are about.
    requests: HashMap<String, String>,
    /// Whether text and thinking of this message came in pieces.
    streamed: bool,
}

impl Dialect for ClaudeCode {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let parent = text(object, "parent_tool_use_id");
        match text(object, "type").unwrap_or("") {
            "system" => self.system(object, findings),
            "assistant" => self.assistant(object, parent, findings),
            "user" => self.user(object, parent, findings),
            "stream_event" if parent.is_none() => {
                if let Some(event) = object.get("event") {
                    self.stream(event, findings);
                }
            }
            // What a helper of the agent writes is told once it is whole.
            "stream_event" => {}
            "result" => self.result(object, findings),
            "control_request" => self.permission_asked(object, findings),
            "control_cancel_request" => self.permission_withdrawn(object, findings),
            "tool_progress" => {
                if let Some(id) = text(object, "tool_use_id").filter(|id| self.open.contains(*id)) {
                    push(
                        findings,
                        Event {
                            tool_id: Some(id.to_owned()),
                            ..Event::new(Kind::ToolExecutionUpdate)
                        },
                    );
                }
            }
            "rate_limit_event" => push(
                findings,
                Event {
                    raw_type: Some("rate_limit_event".to_owned()),
                    ..Event::notice("the rate limit was reported")
                },
            ),
            "control_response" | "keep_alive" => {}
            kind => push(findings, Event::unknown(kind)),
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
                self.step = 0;
                push(findings, Event::new(Kind::AgentStart));
            }
            "compact_boundary" => push(findings, Event::notice("the conversation was compacted")),
            // Signs of life.
            "status" | "thinking_tokens" | "hook_started" | "hook_response" | "hook_progress" => {}
            other => push(
                findings,
                Event {
                    raw_type: Some(format!("system/{other}")),
                    ..Event::notice(text(object, "message").unwrap_or(other))
                },
            ),
        }
    }

    fn assistant(&mut self, object: &Value, parent: Option<&str>, findings: &mut Vec<Finding>) {
        let message = object.get("message").unwrap_or(&Value::Null);
        if parent.is_none() {
            self.message_seen(message, findings);
        }
        let blocks = message.get("content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            match (text(block, "type").unwrap_or(""), parent) {
                ("tool_use" | "server_tool_use", _) => {
                    let id = text(block, "id").unwrap_or("");
                    self.start_tool(id, text(block, "name").unwrap_or("?"), findings);
                    let input = block.get("input").map(Value::to_string);
                    push(
                        findings,
                        Event::tool_arguments(id, input.unwrap_or_default()),
                    );
                }
                ("text", None) => {
                    push(findings, Event::answer(text(block, "text").unwrap_or("")));
                }
                ("text", Some(parent)) if self.open.contains(parent) => {
                    let said = text(block, "text").unwrap_or("");
                    push(findings, Event::tool_output(parent, said));
                }
                ("thinking", None) if !self.streamed => push(
                    findings,
                    Event::thought(text(block, "thinking").unwrap_or("")),
                ),
                _ => {}
            }
        }
        if let Some(error) = text(object, "error") {
            push(
                findings,
                Event {
                    is_error: Some(true),
                    ..Event::notice(error)
                },
            );
        }
    }

    /// Begins a turn when the message is a new one, and counts what it used.
    fn message_seen(&mut self, message: &Value, findings: &mut Vec<Finding>) {
        let id = owned(message, "id");
        // A message that goes on after the results of its first tools is still the same turn.
        if id != self.message {
            self.message = id;
            self.last_usage = Usage::default();
            self.streamed = false;
            self.end_turn("tool_use", findings);
            self.begin_turn(findings);
        }
        if let Some(usage) = message.get("usage") {
            self.count(&read_usage(usage), findings);
        }
    }

    /// Takes `usage` of the message at hand in place of what it said before.
    fn count(&mut self, usage: &Usage, findings: &mut Vec<Finding>) {
        if *usage == self.last_usage {
            return;
        }
        let before = std::mem::replace(&mut self.last_usage, *usage);
        let sum = &mut self.current;
        let replace = |sum: u64, new: u64, old: u64| sum.saturating_add(new).saturating_sub(old);
        sum.input_tokens = replace(sum.input_tokens, usage.input_tokens, before.input_tokens);
        sum.output_tokens = replace(sum.output_tokens, usage.output_tokens, before.output_tokens);
        sum.cache_read_tokens = replace(
            sum.cache_read_tokens,
            usage.cache_read_tokens,
            before.cache_read_tokens,
        );
        sum.cache_write_tokens = replace(
            sum.cache_write_tokens,
            usage.cache_write_tokens,
            before.cache_write_tokens,
        );
        let mut all = self.finished;
        all.add(&self.current);
        push_usage(findings, all);
    }

    fn user(&mut self, object: &Value, parent: Option<&str>, findings: &mut Vec<Finding>) {
        let told = object
            .get("message")
            .and_then(|message| message.get("content"));
        let blocks = told.and_then(Value::as_array);
        let mut had_results = false;
        for block in blocks.into_iter().flatten() {
            if text(block, "type") == Some("tool_result") {
                had_results = true;
                if parent.is_none() {
                    self.end_turn("tool_use", findings);
                }
                let id = text(block, "tool_use_id").unwrap_or("");
                self.open.remove(id);
                self.requests.retain(|_, tool| tool != id);
                let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                push(
                    findings,
                    Event::tool_end(id, content(block.get("content")), failed),
                );
            }
        }
        if !had_results && parent.is_none() {
            push(findings, Event::prompt(content(told)));
        }
    }

    fn result(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        self.count_result(object, findings);
        let subtype = text(object, "subtype").unwrap_or("success");
        let failed = object.get("is_error").and_then(Value::as_bool) == Some(true)
            || subtype.starts_with("error");
        self.end_turn(if failed { "error" } else { "end" }, findings);
        if failed {
            let errors = object.get("errors").and_then(Value::as_array);
            let first = errors.and_then(|errors| errors.first()?.as_str());
            let message = text(object, "result").or(first).unwrap_or(subtype);
            push(findings, Event::error(message));
        }
        self.message = None;
        self.open.clear();
        self.requests.clear();
        self.blocks.clear();
        push(findings, Event::new(Kind::AgentEnd));
    }

    fn count_result(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        if let Some(usage) = object.get("usage") {
            self.current = read_usage(usage);
        }
        self.finished.add(&self.current);
        // Of the session, not of the query.
        self.finished.cost_usd = self.finished.cost_usd.max(cost(object, "total_cost_usd"));
        self.current = Usage::default();
        self.last_usage = Usage::default();
        push_usage(findings, self.finished);
    }

    fn begin_turn(&mut self, findings: &mut Vec<Finding>) {
        self.step += 1;
        self.turn_open = true;
        self.blocks.clear();
        push(findings, Event::turn_start(self.step));
        push(
            findings,
            Event {
                role: Some("assistant".to_owned()),
                ..Event::new(Kind::MessageStart)
            },
        );
    }

    fn end_turn(&mut self, stop: &str, findings: &mut Vec<Finding>) {
        if std::mem::take(&mut self.turn_open) {
            push(findings, Event::turn_end(stop));
        }
    }

    fn start_tool(&mut self, id: &str, name: &str, findings: &mut Vec<Finding>) {
        if self.open.contains(id) || self.open.len() >= MAX_OPEN_TOOLS {
            return;
        }
        self.open.insert(id.to_owned());
        push(findings, Event::tool_start(id, name));
    }

    /// The client is asked for a permission. Its answer goes to the agent's input, where we do not see it.
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
        push(
            findings,
            Event {
                tool_id,
                tool_name: owned(request, "tool_name"),
                text: request.get("input").map(Value::to_string),
                whole: true,
                ..Event::new(Kind::ApprovalRequest)
            },
        );
    }

    fn permission_withdrawn(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let request = text(object, "request_id").unwrap_or("");
        if let Some(tool_id) = self.requests.remove(request) {
            push(
                findings,
                Event {
                    tool_id: Some(tool_id),
                    ..Event::new(Kind::ApprovalEnd)
                },
            );
        }
    }
}

fn read_usage(usage: &Value) -> Usage {
    Usage {
        input_tokens: count(usage, "input_tokens"),
        output_tokens: count(usage, "output_tokens"),
        cache_read_tokens: count(usage, "cache_read_input_tokens"),
        cache_write_tokens: count(usage, "cache_creation_input_tokens"),
        cost_usd: 0.0,
    }
}
