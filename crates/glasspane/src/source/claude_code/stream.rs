//! Deltas of messages: the events of Anthropic's streaming API, wrapped in `stream_event`.

use serde_json::Value;

use super::super::Finding;
use super::super::fields::{count, push, text};
use super::conversation::{Conversation, read_usage};
use crate::{Event, MAX_OPEN_TOOLS};

impl Conversation {
    pub(super) fn stream(&mut self, event: &Value, findings: &mut Vec<Finding>) {
        match text(event, "type").unwrap_or("") {
            "message_start" => {
                if let Some(message) = event.get("message") {
                    self.message_seen(message, findings);
                }
                self.streamed = true;
            }
            "content_block_start" => self.block_start(event, findings),
            "content_block_delta" => self.block_delta(event, findings),
            "message_delta" => self.message_delta(event, findings),
            // `goal_state` is from qwen.
            "content_block_stop" | "message_stop" | "ping" | "goal_state" => {}
            other => push(findings, Event::unknown(format!("stream_event/{other}"))),
        }
    }

    fn block_start(&mut self, event: &Value, findings: &mut Vec<Finding>) {
        let block = event.get("content_block").unwrap_or(&Value::Null);
        if matches!(text(block, "type"), Some("tool_use" | "server_tool_use")) {
            let id = text(block, "id").unwrap_or("");
            if self.blocks.len() < MAX_OPEN_TOOLS {
                self.blocks.insert(count(event, "index"), id.to_owned());
            }
            self.start_tool(id, text(block, "name").unwrap_or("?"), findings);
        }
    }

    fn block_delta(&mut self, event: &Value, findings: &mut Vec<Finding>) {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        match text(delta, "type").unwrap_or("") {
            "text_delta" => {
                let piece = text(delta, "text").unwrap_or("");
                self.has_output = true;
                push(findings, Event::piece("assistant", piece));
            }
            "thinking_delta" => {
                let thought = text(delta, "thinking").unwrap_or("");
                push(findings, Event::thought(thought));
            }
            "input_json_delta" => {
                let id = self.blocks.get(&count(event, "index"));
                if let Some(id) = id.filter(|id| self.open.contains(*id)) {
                    let piece = text(delta, "partial_json").unwrap_or("");
                    push(
                        findings,
                        Event {
                            arguments: Some(true),
                            ..Event::tool_output(id.clone(), piece)
                        },
                    );
                }
            }
            // Signatures and citations.
            _ => {}
        }
    }

    fn message_delta(&mut self, event: &Value, findings: &mut Vec<Finding>) {
        if let Some(usage) = event.get("usage") {
            let reported = read_usage(usage);
            let mut usage = self.message_usage();
            usage.output_tokens = reported.output_tokens;
            self.count(&usage, findings);
        }
        let stop = event
            .get("delta")
            .and_then(|delta| text(delta, "stop_reason"));
        if let Some(stop) = stop {
            let stop = match stop {
                "end_turn" | "stop_sequence" => "end",
                "max_tokens" => "length",
                other => other,
            };
            self.end_turn(stop, findings);
        }
    }
}
