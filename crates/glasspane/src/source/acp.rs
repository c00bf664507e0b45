//! The Agent Client Protocol: JSON-RPC messages of the agent, possibly mixed with those of its client.
//!
//! The messages of the client may be missing, so a prompt is recognised by its first update or by its
//! response. Both sides number their requests independently: responses are distinguished by their content.

use std::collections::HashMap;

use serde_json::Value;

use super::fields::{cost, count, owned, push, push_usage, text};
use super::steps::{PendingMessage, Steps};
use super::{Dialect, Finding, Identity};
use crate::{CostBasis, Event, Kind, MAX_OPEN_TOOLS, Usage};

/// The JSON-RPC errors for an unknown method and for a cancelled request.
const METHOD_NOT_FOUND: i64 = -32601;
const REQUEST_CANCELLED: i64 = -32800;

#[derive(Debug, Default)]
pub(super) struct Acp {
    steps: Steps,
    /// Names of tools that have started, by the ids of their calls.
    names: HashMap<String, String>,
    /// Pending requests of the client: the method by the id.
    client_requests: HashMap<String, String>,
    /// Whether the stream contains the messages of the client.
    both_sides: bool,
    /// Pending permission requests: the tool by the id of the request.
    permissions: HashMap<String, String>,
    /// The message since the last tool.
    pending: PendingMessage,
    used: Usage,
}

impl Dialect for Acp {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let id = object.get("id").map(Value::to_string);
        let params = object.get("params").unwrap_or(&Value::Null);
        match (text(object, "method"), id) {
            (Some("session/update"), _) => self.update(params, findings),
            (Some("session/request_permission"), Some(id)) => {
                self.permission(id, params, findings);
            }
            (Some(method), id) => self.request(method, id, params, findings),
            (None, Some(id)) => match (object.get("result"), object.get("error")) {
                (_, Some(error)) => self.failed(&id, error, findings),
                (Some(result), None) => self.response(&id, result, findings),
                (None, None) => push(findings, Event::unknown("no result")),
            },
            (None, None) => push(findings, Event::unknown("no method")),
        }
    }
}

impl Acp {
    /// Handles requests of the client, and those of the agent except for permissions.
    fn request(
        &mut self,
        method: &str,
        id: Option<String>,
        params: &Value,
        findings: &mut Vec<Finding>,
    ) {
        match method {
            "session/prompt" => {
                self.steps.prompt(&blocks(params.get("prompt")), findings);
            }
            "session/new" | "session/load" | "session/resume" | "session/fork" => {
                findings.push(Finding::Identity(Identity {
                    cwd: owned(params, "cwd"),
                    ..Identity::default()
                }));
            }
            "session/cancel" => push(findings, Event::notice("cancelled by the client")),
            _ => {}
        }
        let of_client = method.starts_with("session/")
            || matches!(method, "initialize" | "authenticate" | "logout");
        if of_client {
            self.both_sides = true;
            if let Some(id) = id.filter(|_| self.client_requests.len() < MAX_OPEN_TOOLS) {
                self.client_requests.insert(id, method.to_owned());
            }
        }
    }

    fn response(&mut self, id: &str, result: &Value, findings: &mut Vec<Finding>) {
        if result.pointer("/outcome/outcome").is_some() {
            return self.permission_decided(id, findings);
        }
        let method = self.client_requests.remove(id);
        if let Some(reason) = text(result, "stopReason") {
            self.pending.finish(findings);
            self.prompt_usage(result, findings);
            return match reason {
                "cancelled" => self.steps.aborted(findings),
                "end_turn" => self.steps.done("end", findings),
                "max_tokens" => self.steps.done("length", findings),
                other => self.steps.done(other, findings),
            };
        }
        // Loading a session replays its transcript, which is complete now.
        let loaded = matches!(method.as_deref(), Some("session/load" | "session/resume"));
        if loaded && self.steps.is_working() {
            self.pending.finish(findings);
            self.steps.done("end", findings);
        }
        if text(result, "sessionId").is_some() || loaded {
            findings.push(Finding::Identity(Identity {
                model: model(result),
                ..Identity::default()
            }));
        }
    }

    /// Handles an error response. It belongs to the prompt, unless the stream shows another request.
    fn failed(&mut self, id: &str, error: &Value, findings: &mut Vec<Finding>) {
        let method = self.client_requests.remove(id);
        let code = error.get("code").and_then(Value::as_i64);
        let details = error
            .pointer("/data/details")
            .or_else(|| error.pointer("/data/message"));
        let mut message = text(error, "message").unwrap_or("failed").to_owned();
        if let Some(details) = details
            .and_then(Value::as_str)
            .or_else(|| text(error, "data"))
        {
            message = format!("{message}: {details}");
        }
        let of_prompt = match method.as_deref() {
            Some(method) => method == "session/prompt",
            None => !self.both_sides && code != Some(METHOD_NOT_FOUND),
        };
        if of_prompt {
            self.pending.finish(findings);
            if code == Some(REQUEST_CANCELLED) {
                return self.steps.aborted(findings);
            }
            return self.steps.failed(&message, findings);
        }
        // An unknown request was one of the agent.
        if let Some(method) = method {
            let event = Event {
                raw_type: Some("response".to_owned()),
                ..Event::error(format!("{method}: {message}"))
            };
            push(findings, event);
        }
    }

    fn update(&mut self, params: &Value, findings: &mut Vec<Finding>) {
        let update = params.get("update").unwrap_or(&Value::Null);
        match text(update, "sessionUpdate").unwrap_or("") {
            "user_message_chunk" => {
                if !self.both_sides {
                    self.steps.prompt(&blocks(update.get("content")), findings);
                }
            }
            "agent_message_chunk" => {
                self.chunk_usage(update, findings);
                let text = blocks(update.get("content"));
                if !text.is_empty() {
                    self.steps.act(findings);
                    self.pending.push(&text, findings);
                }
            }
            "agent_thought_chunk" => {
                let thought = blocks(update.get("content"));
                if !thought.is_empty() {
                    self.steps.act(findings);
                    push(findings, Event::thought(thought));
                }
            }
            "tool_call" | "tool_call_update" => self.tool(update, findings),
            "plan" => push(findings, plan(update)),
            "usage_update" => self.cost(update, findings),
            "current_mode_update" => push(
                findings,
                Event::notice(format!(
                    "mode {}",
                    text(update, "currentModeId").unwrap_or("?")
                )),
            ),
            "available_commands_update" | "session_info_update" | "config_option_update" => {}
            other => push(findings, Event::unknown(format!("session/update/{other}"))),
        }
    }

    fn tool(&mut self, update: &Value, findings: &mut Vec<Finding>) {
        let id = text(update, "toolCallId").unwrap_or("");
        let status = text(update, "status");
        let over = matches!(status, Some("completed" | "failed"));
        // Agents that do not report arguments put the command into the title.
        let mut title = None;
        if !self.steps.is_open(id) {
            // Repeated after the end.
            if over && self.names.contains_key(id) {
                return;
            }
            self.pending.finish(findings);
            let name = tool_name(update);
            self.steps.start_tool(id, &name, findings);
            title = owned(update, "title").filter(|title| *title != name);
            self.note_name(id, name);
        }
        let input = update.get("rawInput").filter(|input| !is_empty(input));
        let input = input.map(Value::to_string).or(title);
        if let Some(input) = input.filter(|_| !over) {
            push(findings, Event::tool_arguments(id, input));
        }
        if status == Some("in_progress") {
            self.permission_implied(id, findings);
        }
        let output = tool_output(update);
        if over {
            let failed =
                status == Some("failed") || exit_code(update).is_some_and(|code| code != 0);
            self.steps.end_tool(id, output, failed, findings);
        } else if status == Some("in_progress") && !output.is_empty() {
            push(
                findings,
                Event {
                    whole: true,
                    ..Event::tool_output(id, output)
                },
            );
        }
    }

    fn permission(&mut self, request: String, params: &Value, findings: &mut Vec<Finding>) {
        let call = params.get("toolCall").unwrap_or(&Value::Null);
        let id = text(call, "toolCallId").unwrap_or("").to_owned();
        let name = self.names.get(&id).cloned();
        let name = name.unwrap_or_else(|| tool_name(call));
        self.pending.finish(findings);
        self.steps.start_tool(&id, &name, findings);
        self.note_name(&id, name.clone());
        if self.permissions.len() < MAX_OPEN_TOOLS {
            self.permissions.insert(request, id.clone());
        }
        push(
            findings,
            Event {
                tool_id: Some(id),
                tool_name: Some(name),
                text: call
                    .get("rawInput")
                    .map(Value::to_string)
                    .or_else(|| owned(call, "title")),
                whole: true,
                message: owned(call, "title"),
                ..Event::new(Kind::ApprovalRequest)
            },
        );
    }

    /// A running tool has its permission, even if the response is not in the stream.
    fn permission_implied(&mut self, id: &str, findings: &mut Vec<Finding>) {
        let request = self.permissions.iter().find(|(_, tool)| *tool == id);
        if let Some(request) = request.map(|(request, _)| request.clone()) {
            self.permission_decided(&request, findings);
        }
    }

    fn note_name(&mut self, id: &str, name: String) {
        if self.names.len() >= MAX_OPEN_TOOLS {
            self.names.clear();
        }
        self.names.insert(id.to_owned(), name);
    }

    fn permission_decided(&mut self, request: &str, findings: &mut Vec<Finding>) {
        if let Some(tool_id) = self
            .permissions
            .remove(request)
            .filter(|id| self.steps.is_open(id))
        {
            push(
                findings,
                Event {
                    tool_id: Some(tool_id),
                    ..Event::new(Kind::ApprovalEnd)
                },
            );
        }
    }

    /// Reads the usage of a prompt's response. In the protocol it is that of the session; Gemini reports that
    /// of the prompt, in another field.
    fn prompt_usage(&mut self, result: &Value, findings: &mut Vec<Finding>) {
        if let Some(usage) = result.get("usage").filter(|usage| usage.is_object()) {
            self.used.raise_to(&read_usage(usage));
            push_usage(findings, self.used);
        } else if let Some(quota) = result.pointer("/_meta/quota/token_count") {
            self.used.add(&Usage {
                input_tokens: count(quota, "input_tokens"),
                output_tokens: count(quota, "output_tokens"),
                ..Usage::default()
            });
            push_usage(findings, self.used);
        }
    }

    /// Qwen reports the usage of each model call with a delta of text.
    fn chunk_usage(&mut self, update: &Value, findings: &mut Vec<Finding>) {
        let usage = update.pointer("/_meta/usage");
        if let Some(usage) = usage.filter(|usage| usage.is_object()) {
            self.used.add(&read_usage(usage));
            push_usage(findings, self.used);
        }
    }

    /// Reads the cost, which is that of the session. The size of the context is not usage.
    fn cost(&mut self, update: &Value, findings: &mut Vec<Finding>) {
        let Some(reported) = update
            .get("cost")
            .filter(|cost| text(cost, "currency") == Some("USD"))
        else {
            return;
        };
        let dollars = cost(reported, "amount");
        if dollars > self.used.cost_usd {
            self.used = self.used.with_cost(dollars, CostBasis::Reported);
            push_usage(findings, self.used);
        }
    }
}

fn read_usage(usage: &Value) -> Usage {
    let (read, write) = (
        count(usage, "cachedReadTokens"),
        count(usage, "cachedWriteTokens"),
    );
    let (input, output) = (count(usage, "inputTokens"), count(usage, "outputTokens"));
    // The total shows whether cached tokens are part of the input.
    let included = count(usage, "totalTokens") <= input.saturating_add(output);
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

/// Returns the text of one or several content blocks.
fn blocks(content: Option<&Value>) -> String {
    match content {
        Some(Value::Array(blocks)) => blocks
            .iter()
            .filter_map(|block| text(block, "text"))
            .collect(),
        Some(block) => text(block, "text").unwrap_or("").to_owned(),
        None => String::new(),
    }
}

/// Returns the name of the tool. Some agents report it in metadata; the title may be a command line.
fn tool_name(call: &Value) -> String {
    let paths = [
        "/_meta/toolName",
        "/_meta/goose/toolCall/toolName",
        "/_meta/claudeCode/toolName",
    ];
    let named = paths
        .iter()
        .find_map(|path| call.pointer(path).and_then(Value::as_str));
    let name = named
        .or_else(|| text(call, "kind").filter(|kind| *kind != "other"))
        .or_else(|| text(call, "title"));
    name.unwrap_or("tool").to_owned()
}

fn tool_output(update: &Value) -> String {
    let parts = update.get("content").and_then(Value::as_array);
    let mut output = String::new();
    for part in parts.into_iter().flatten() {
        match text(part, "type") {
            Some("content") => output.push_str(&blocks(part.get("content"))),
            Some("diff") => output.push_str(text(part, "path").unwrap_or("")),
            _ => {}
        }
    }
    output
}

fn exit_code(update: &Value) -> Option<i64> {
    [
        "/rawOutput/exit_code",
        "/rawOutput/metadata/exit",
        "/rawOutput/exitCode",
    ]
    .iter()
    .find_map(|path| update.pointer(path).and_then(Value::as_i64))
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn plan(update: &Value) -> Event {
    let entries = update.get("entries").and_then(Value::as_array);
    let all = entries.map_or(0, Vec::len);
    let done = entries.map_or(0, |entries| {
        let completed = |entry: &&Value| text(entry, "status") == Some("completed");
        entries.iter().filter(completed).count()
    });
    Event {
        raw_type: Some("plan".to_owned()),
        ..Event::notice(format!("{done} of {all} steps done"))
    }
}

fn model(result: &Value) -> Option<String> {
    if let Some(model) = result.pointer("/models/currentModelId") {
        return model.as_str().map(str::to_owned);
    }
    let options = result.get("configOptions").and_then(Value::as_array)?;
    let chosen = options
        .iter()
        .find(|option| text(option, "id") == Some("model"))?;
    owned(chosen, "currentValue")
}
