//! Derives the turns of agents that do not report them.

use std::collections::HashSet;

use super::Finding;
use super::fields::push;
use crate::{Event, Kind, MAX_OPEN_TOOLS, MAX_RECORD_TEXT_BYTES};

/// Derives prompts and turns from messages and tools: a message after a tool result starts another turn.
#[derive(Debug, Default)]
pub(super) struct Steps {
    step: u64,
    working: bool,
    turn_open: bool,
    tools: HashSet<String>,
}

/// Collects the deltas of a message, for agents that never report the whole.
#[derive(Debug, Default)]
pub(super) struct PendingMessage {
    text: String,
    /// Whether it is longer than a record may be: then only the deltas are reported.
    too_long: bool,
}

impl PendingMessage {
    pub(super) fn push(&mut self, text: &str, findings: &mut Vec<Finding>) {
        self.too_long |= self.text.len() + text.len() > MAX_RECORD_TEXT_BYTES;
        if !self.too_long {
            self.text.push_str(text);
        }
        push(findings, Event::piece("assistant", text));
    }

    /// Reports the complete message.
    pub(super) fn finish(&mut self, findings: &mut Vec<Finding>) {
        let text = std::mem::take(&mut self.text);
        if std::mem::take(&mut self.too_long) {
            let event = Event {
                role: Some("assistant".to_owned()),
                ..Event::new(Kind::MessageEnd)
            };
            push(findings, event);
        } else if !text.is_empty() {
            push(findings, Event::answer(text));
        }
    }
}

impl Steps {
    /// Whether the model has responded to this prompt.
    pub(super) fn has_acted(&self) -> bool {
        self.step > 0
    }

    pub(super) fn is_working(&self) -> bool {
        self.working
    }

    /// Reports a message of the user. Before the first response, several messages are one prompt.
    pub(super) fn prompt(&mut self, text: &str, findings: &mut Vec<Finding>) {
        self.begin(findings);
        push(findings, Event::prompt(text));
    }

    /// Reports the start of the work on a prompt, unless it has started.
    pub(super) fn begin(&mut self, findings: &mut Vec<Finding>) {
        if !std::mem::replace(&mut self.working, true) {
            self.step = 0;
            push(findings, Event::new(Kind::AgentStart));
        }
    }

    /// Notes that the model acts: starts a prompt and a turn if none is open.
    pub(super) fn act(&mut self, findings: &mut Vec<Finding>) {
        self.begin(findings);
        if !std::mem::replace(&mut self.turn_open, true) {
            self.step += 1;
            push(findings, Event::turn_start(self.step));
        }
    }

    pub(super) fn is_open(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// Reports the start of a tool, unless it has started.
    pub(super) fn start_tool(&mut self, id: &str, name: &str, findings: &mut Vec<Finding>) {
        if self.tools.contains(id) || self.tools.len() >= MAX_OPEN_TOOLS {
            return;
        }
        self.act(findings);
        self.tools.insert(id.to_owned());
        push(findings, Event::tool_start(id, name));
    }

    pub(super) fn end_tool(
        &mut self,
        id: &str,
        text: impl Into<String>,
        failed: bool,
        findings: &mut Vec<Finding>,
    ) {
        self.start_tool(id, "?", findings);
        self.end_turn("tool_use", findings);
        self.tools.remove(id);
        push(findings, Event::tool_end(id, text, failed));
    }

    pub(super) fn end_turn(&mut self, stop: &str, findings: &mut Vec<Finding>) {
        if std::mem::take(&mut self.turn_open) {
            push(findings, Event::turn_end(stop));
        }
    }

    /// Reports that the prompt is done.
    pub(super) fn done(&mut self, stop: &str, findings: &mut Vec<Finding>) {
        self.begin(findings);
        self.end_turn(stop, findings);
        self.end(Event::new(Kind::AgentEnd), findings);
    }

    /// Reports that the work was interrupted.
    pub(super) fn aborted(&mut self, findings: &mut Vec<Finding>) {
        self.begin(findings);
        self.end_turn("aborted", findings);
        self.end(Event::aborted(), findings);
    }

    pub(super) fn failed(&mut self, message: &str, findings: &mut Vec<Finding>) {
        self.begin(findings);
        self.end_turn("error", findings);
        push(findings, Event::error(message));
        self.end(Event::new(Kind::AgentEnd), findings);
    }

    fn end(&mut self, end: Event, findings: &mut Vec<Finding>) {
        self.working = false;
        self.tools.clear();
        push(findings, end);
    }
}
