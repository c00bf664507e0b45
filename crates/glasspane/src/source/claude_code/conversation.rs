//! One conversation with the model: of the agent or of a child.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::Value;

use super::super::Finding;
use super::super::fields::{content, cost, count, owned, push, push_usage, text};
use crate::{CostBasis, Event, Kind, MAX_OPEN_TOOLS, Usage};

/// How many messages are remembered, because further lines of them, which repeat their usage, may arrive.
///
/// Limit: a line of an older message counts as a new turn.
const REMEMBERED_MESSAGES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// The usage of finished queries, and of the current one so far.
    finished: Usage,
    current: Usage,
    /// The current message, and the usage of recent ones.
    message: Option<String>,
    counted: VecDeque<(Option<String>, Usage)>,
    pub(super) step: u64,
    turn_open: bool,
    /// Running tools.
    pub(super) open: HashSet<String>,
    /// The tools of the streaming message, by the index of their block.
    pub(super) blocks: HashMap<u64, String>,
    /// Whether this message was streamed.
    pub(super) streamed: bool,
    /// Whether the model has sent anything.
    pub(super) has_output: bool,
}

impl Conversation {
    pub(super) fn assistant(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let message = object.get("message").unwrap_or(&Value::Null);
        self.message_seen(message, findings);
        let blocks = message.get("content").and_then(Value::as_array);
        for block in blocks.into_iter().flatten() {
            match text(block, "type").unwrap_or("") {
                "tool_use" | "server_tool_use" => {
                    let id = text(block, "id").unwrap_or("");
                    self.start_tool(id, text(block, "name").unwrap_or("?"), findings);
                    let input = block.get("input").map(Value::to_string);
                    push(
                        findings,
                        Event::tool_arguments(id, input.unwrap_or_default()),
                    );
                }
                "text" => {
                    self.has_output = true;
                    push(findings, Event::answer(text(block, "text").unwrap_or("")));
                }
                "thinking" if !self.streamed => push(
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

    /// Begins a turn if the message is new, and counts its usage.
    pub(super) fn message_seen(&mut self, message: &Value, findings: &mut Vec<Finding>) {
        let id = owned(message, "id");
        let known = self.counted.iter().any(|(counted, _)| *counted == id);
        // A message that continues after the results of its first tools is still the same turn.
        if !known {
            self.streamed = false;
            self.end_turn("tool_use", findings);
            self.begin_turn(findings);
            self.counted.push_back((id.clone(), Usage::default()));
            if self.counted.len() > REMEMBERED_MESSAGES {
                self.counted.pop_front();
            }
        }
        self.message = id;
        if let Some(usage) = message.get("usage") {
            self.count(&read_usage(usage), findings);
        }
    }

    /// The usage of the current message so far.
    pub(super) fn message_usage(&self) -> Usage {
        let entry = self.counted.iter().find(|(id, _)| *id == self.message);
        entry.map_or_else(Usage::default, |(_, usage)| *usage)
    }

    /// Raises the usage of the current message to `usage`.
    pub(super) fn count(&mut self, usage: &Usage, findings: &mut Vec<Finding>) {
        let before = self.message_usage();
        let mut now = before;
        now.raise_to(usage);
        if now == before {
            return;
        }
        if let Some((_, counted)) = self.counted.iter_mut().find(|(id, _)| *id == self.message) {
            *counted = now;
        }
        self.current.add(&Usage {
            input_tokens: now.input_tokens - before.input_tokens,
            output_tokens: now.output_tokens - before.output_tokens,
            cache_read_tokens: now.cache_read_tokens - before.cache_read_tokens,
            cache_write_tokens: now.cache_write_tokens - before.cache_write_tokens,
            ..Usage::default()
        });
        push_usage(findings, self.used());
    }

    /// Counts the totals reported at the end of a query. They include calls that were not shown, and are
    /// missing after an interruption. Some versions report them for the query, some for the session: the
    /// messages show which.
    pub(super) fn count_result(&mut self, object: &Value) {
        let reported = object.get("usage").map(read_usage).unwrap_or_default();
        let so_far = self.used();
        let of_session =
            !self.finished.is_zero() && reported.prompt_tokens() >= so_far.prompt_tokens();
        if of_session {
            self.finished = so_far;
            self.finished.raise_to(&reported);
        } else {
            self.current.raise_to(&reported);
            self.finished.add(&self.current);
        }
        self.current = Usage::default();
        let dollars = cost(object, "total_cost_usd").max(self.finished.cost_usd);
        self.finished = self.finished.with_cost(dollars, CostBasis::Reported);
    }

    /// Counts a total, of which the kinds of tokens are unknown.
    pub(super) fn count_total(&mut self, total: u64, findings: &mut Vec<Finding>) {
        let missing = total.saturating_sub(self.used().tokens());
        if missing > 0 {
            self.finished.input_tokens = self.finished.input_tokens.saturating_add(missing);
            push_usage(findings, self.used());
        }
    }

    pub(super) fn used(&self) -> Usage {
        let mut all = self.finished;
        all.add(&self.current);
        all
    }

    /// Ends the tools whose results `object` has, and returns their ids.
    pub(super) fn results(&mut self, object: &Value, findings: &mut Vec<Finding>) -> Vec<String> {
        let blocks = object.pointer("/message/content").and_then(Value::as_array);
        let mut ended = Vec::new();
        for block in blocks.into_iter().flatten() {
            if text(block, "type") != Some("tool_result") {
                continue;
            }
            self.end_turn("tool_use", findings);
            let id = text(block, "tool_use_id").unwrap_or("");
            self.open.remove(id);
            let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
            push(
                findings,
                Event::tool_end(id, content(block.get("content")), failed),
            );
            ended.push(id.to_owned());
        }
        ended
    }

    pub(super) fn progress(&mut self, object: &Value, findings: &mut Vec<Finding>) {
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

    pub(super) fn end_turn(&mut self, stop: &str, findings: &mut Vec<Finding>) {
        if std::mem::take(&mut self.turn_open) {
            push(findings, Event::turn_end(stop));
        }
    }

    pub(super) fn start_tool(&mut self, id: &str, name: &str, findings: &mut Vec<Finding>) {
        if self.open.contains(id) || self.open.len() >= MAX_OPEN_TOOLS {
            return;
        }
        self.open.insert(id.to_owned());
        push(findings, Event::tool_start(id, name));
    }

    /// Clears the state of this query: nothing more will be reported for it.
    pub(super) fn forget(&mut self) {
        self.message = None;
        self.counted.clear();
        self.open.clear();
        self.blocks.clear();
    }
}

/// Returns the text of a message.
pub(super) fn message_text(object: &Value) -> String {
    content(object.pointer("/message/content"))
}

pub(super) fn read_usage(usage: &Value) -> Usage {
    let (read, write) = (
        count(usage, "cache_read_input_tokens"),
        count(usage, "cache_creation_input_tokens"),
    );
    let (input, output) = (count(usage, "input_tokens"), count(usage, "output_tokens"));
    // Qwen reports a total, which shows that it includes cached tokens in the input.
    let total = usage.get("total_tokens").and_then(Value::as_u64);
    let included = total == Some(input.saturating_add(output));
    Usage {
        input_tokens: match included {
            true => input.saturating_sub(read),
            false => input,
        },
        output_tokens: output,
        cache_read_tokens: read,
        cache_write_tokens: write,
        ..Usage::default()
    }
}
