//! `zot rpc` and `zot --json`: the events of `docs/events.md`.

mod piece;

use serde_json::Value;

pub(super) use piece::piece;

use super::fields::{cost, count, owned, push, push_usage, text};
use super::{Dialect, Finding};
use crate::{CostBasis, Event, Kind, Usage, normalize};

/// How many calls may wait for confirmation at a time; decisions about more are not reported.
const MAX_WAITING_CALLS: usize = 64;

/// Both modes of zot print the same events; they differ in what follows `done`, which the tracker handles.
#[derive(Debug, Default)]
pub(super) struct Zot {
    used: Usage,
    /// Calls that wait for a `confirm` or an `answer`, oldest first.
    waiting: Vec<String>,
    /// Whether the last turn ended with tool calls, so that another turn must follow.
    wants_tools: bool,
}

impl Dialect for Zot {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "type").unwrap_or("") {
            "usage" => {
                self.usage(object);
                push_usage(findings, self.used);
            }
            // Complete arguments, which replace the deltas before.
            "tool_call" => arguments(object, findings),
            "tool_confirm" => {
                arguments(object, findings);
                if self.waiting.len() < MAX_WAITING_CALLS {
                    self.waiting.extend(owned(object, "id"));
                }
            }
            "tool_question" if self.waiting.len() < MAX_WAITING_CALLS => {
                self.waiting.extend(owned(object, "call_id"));
            }
            "tool_result" => {
                let id = text(object, "id");
                self.waiting.retain(|waiting| Some(waiting.as_str()) != id);
            }
            "response" => self.confirmed(object, findings),
            "turn_end" => self.wants_tools = text(object, "stop") == Some("tool_use"),
            "turn_start" | "user_message" | "error" => self.wants_tools = false,
            // The only sign of an abort during tool calls is that no further turn follows.
            "done" if std::mem::take(&mut self.wants_tools) => {
                return push(findings, Event::aborted());
            }
            _ => {}
        }
        if let Some(event) = normalize(object) {
            push(findings, event);
        }
    }
}

impl Zot {
    /// Handles the response to a decision. It has the id of the call, unless the client numbers its requests.
    fn confirmed(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let succeeded = object.get("success").and_then(Value::as_bool) == Some(true);
        let decides = matches!(text(object, "command"), Some("confirm" | "answer"));
        if !succeeded || !decides || self.waiting.is_empty() {
            return;
        }
        let id = text(object, "id");
        let named = self
            .waiting
            .iter()
            .position(|waiting| Some(waiting.as_str()) == id);
        push(
            findings,
            Event {
                tool_id: Some(self.waiting.remove(named.unwrap_or(0))),
                ..Event::new(Kind::ApprovalEnd)
            },
        );
    }

    fn usage(&mut self, object: &Value) {
        match object.get("cumulative") {
            Some(cumulative) => self.used = read_usage(cumulative),
            None => self.used.add(&read_usage(object)),
        }
    }
}

fn arguments(object: &Value, findings: &mut Vec<Finding>) {
    if let (Some(id), Some(arguments)) = (text(object, "id"), object.get("args")) {
        push(findings, Event::tool_arguments(id, arguments.to_string()));
    }
}

fn read_usage(object: &Value) -> Usage {
    Usage {
        input_tokens: count(object, "input"),
        output_tokens: count(object, "output"),
        cache_read_tokens: count(object, "cache_read"),
        cache_write_tokens: count(object, "cache_write"),
        ..Usage::default()
    }
    .with_cost(cost(object, "cost_usd"), CostBasis::Reported)
}
