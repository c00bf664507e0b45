//! `codex exec --json`: threads, turns and items, as in codex's `exec_events.rs`.

use std::collections::HashSet;

use serde_json::Value;

use super::app_server::attempts;
use super::fields::{content, count, http_status, owned, push, push_usage, text};
use super::{Dialect, Finding};
use crate::{Event, Kind, MAX_OPEN_TOOLS, Retry, Usage};

/// A turn of codex is all the work on one prompt, so its end is the end of the work.
#[derive(Debug, Default)]
pub(super) struct Codex {
    used: Usage,
    step: u64,
    /// Running items. Some kinds are only reported when they are complete.
    open: HashSet<String>,
    /// Whether the failure of this turn was reported: its end repeats it.
    failure_reported: bool,
}

impl Dialect for Codex {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "type").unwrap_or("") {
            "thread.started" => push(findings, Event::new(Kind::AgentStart)),
            "turn.started" => {
                self.step += 1;
                self.failure_reported = false;
                if self.step > 1 {
                    // The next prompt of the same thread.
                    push(findings, Event::new(Kind::AgentStart));
                }
                push(findings, Event::turn_start(self.step));
            }
            "turn.completed" => {
                self.usage(object, findings);
                push(findings, Event::turn_end("end"));
                push(findings, Event::new(Kind::AgentEnd));
            }
            "turn.failed" if is_interruption(object) => interrupted(findings),
            "turn.failed" => {
                let message = object
                    .get("error")
                    .and_then(|error| owned(error, "message"));
                let event = Event {
                    message: message.clone(),
                    ..Event::turn_end("error")
                };
                push(findings, event);
                if !std::mem::take(&mut self.failure_reported) {
                    push(findings, Event::error(message.unwrap_or_default()));
                }
                push(findings, Event::new(Kind::AgentEnd));
            }
            "turn.aborted" | "turn.interrupted" => interrupted(findings),
            "error" => {
                let event = error(text(object, "message").unwrap_or(""));
                self.failure_reported |= event.kind == Kind::Error;
                push(findings, event);
            }
            kind @ ("item.started" | "item.updated" | "item.completed") => {
                match object.get("item") {
                    Some(item) => self.item(kind, item, findings),
                    None => push(findings, Event::unknown(kind)),
                }
            }
            "item.plan.delta" => push(
                findings,
                Event::thought(text(object, "delta").unwrap_or("")),
            ),
            "request_user_input" => push(findings, Event::new(Kind::ApprovalRequest)),
            kind => push(findings, Event::unknown(kind)),
        }
    }
}

fn is_interruption(object: &Value) -> bool {
    let message = object.pointer("/error/message").and_then(Value::as_str);
    message.is_some_and(|message| {
        ["interrupted", "turn interrupted", "turn aborted"]
            .iter()
            .any(|known| message.eq_ignore_ascii_case(known))
    })
}

fn interrupted(findings: &mut Vec<Finding>) {
    push(findings, Event::turn_end("aborted"));
    push(findings, Event::aborted());
}

const RECONNECTING: &str = "reconnecting";

/// A reconnection is reported as an error, although the work continues.
fn error(message: &str) -> Event {
    let beginning = message.get(..RECONNECTING.len());
    if beginning.is_some_and(|beginning| beginning.eq_ignore_ascii_case(RECONNECTING)) {
        let retry = Retry {
            status: http_status(message),
            ..attempts(message)
        };
        return Event::retry(retry, message);
    }
    Event::error(message)
}

impl Codex {
    fn usage(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let Some(usage) = object.get("usage") else {
            return;
        };
        let cached = count(usage, "cached_input_tokens");
        let written = count(usage, "cache_write_input_tokens");
        // For the thread so far, not only for this turn.
        self.used.raise_to(&Usage {
            // Codex includes cached tokens in the input.
            input_tokens: count(usage, "input_tokens")
                .saturating_sub(cached.saturating_add(written)),
            output_tokens: count(usage, "output_tokens"),
            cache_read_tokens: cached,
            cache_write_tokens: written,
            ..Usage::default()
        });
        push_usage(findings, self.used);
    }

    fn item(&mut self, kind: &str, item: &Value, findings: &mut Vec<Finding>) {
        let item_text = || text(item, "text").unwrap_or("");
        match (text(item, "type").unwrap_or(""), kind) {
            ("agent_message", "item.started") => push(
                findings,
                Event {
                    role: Some("assistant".to_owned()),
                    ..Event::new(Kind::MessageStart)
                },
            ),
            ("agent_message", "item.updated") => push(
                findings,
                Event {
                    whole: true,
                    ..Event::piece("assistant", item_text())
                },
            ),
            ("agent_message", _) => push(findings, Event::answer(item_text())),
            ("reasoning" | "plan", _) => push(
                findings,
                Event {
                    whole: true,
                    ..Event::thought(item_text())
                },
            ),
            ("todo_list", _) => push(findings, todo_list(item)),
            ("error", _) => push(
                findings,
                Event {
                    is_error: Some(true),
                    ..Event::notice(text(item, "message").unwrap_or("error"))
                },
            ),
            (
                "command_execution" | "file_change" | "mcp_tool_call" | "collab_tool_call"
                | "web_search",
                _,
            ) => self.tool(kind, item, findings),
            (other, kind) => push(findings, Event::unknown(format!("{kind}/{other}"))),
        }
    }

    fn tool(&mut self, kind: &str, item: &Value, findings: &mut Vec<Finding>) {
        let id = text(item, "id").unwrap_or("");
        let completed = kind == "item.completed";
        if !self.open.contains(id) {
            push(findings, Event::tool_start(id, tool_name(item)));
            let arguments = tool_arguments(item);
            if !arguments.is_empty() {
                push(findings, Event::tool_arguments(id, arguments));
            }
            if !completed && self.open.len() < MAX_OPEN_TOOLS {
                self.open.insert(id.to_owned());
            }
        } else if kind == "item.updated" {
            push(
                findings,
                Event {
                    whole: true,
                    ..Event::tool_output(id, tool_text(item))
                },
            );
        }
        if completed {
            self.open.remove(id);
            push(findings, Event::tool_end(id, tool_text(item), failed(item)));
        }
    }
}

fn todo_list(item: &Value) -> Event {
    let items = item.get("items").and_then(Value::as_array);
    let all = items.map_or(0, Vec::len);
    let done = items.map_or(0, |items| {
        let done = |item: &&Value| item.get("completed").and_then(Value::as_bool) == Some(true);
        items.iter().filter(done).count()
    });
    Event {
        raw_type: Some("todo_list".to_owned()),
        ..Event::notice(format!("{done} of {all} steps done"))
    }
}

fn tool_name(item: &Value) -> String {
    match text(item, "type") {
        Some("command_execution") => "shell".to_owned(),
        Some("mcp_tool_call") => format!(
            "{}.{}",
            text(item, "server").unwrap_or("mcp"),
            text(item, "tool").unwrap_or("?")
        ),
        Some("collab_tool_call") => text(item, "tool").unwrap_or("collab").to_owned(),
        other => other.unwrap_or("?").to_owned(),
    }
}

fn tool_arguments(item: &Value) -> String {
    for name in ["command", "query", "prompt"] {
        if let Some(value) = text(item, name) {
            return value.to_owned();
        }
    }
    let rest = item.get("arguments").or_else(|| item.get("changes"));
    rest.map(Value::to_string).unwrap_or_default()
}

fn tool_text(item: &Value) -> String {
    if let Some(output) = text(item, "aggregated_output") {
        return output.to_owned();
    }
    let error = item.get("error").and_then(|error| text(error, "message"));
    if let Some(error) = error {
        return error.to_owned();
    }
    content(item.get("result").and_then(|result| result.get("content")))
}

fn failed(item: &Value) -> bool {
    matches!(text(item, "status"), Some("failed" | "declined"))
        || item
            .get("exit_code")
            .and_then(Value::as_i64)
            .is_some_and(|code| code != 0)
}
