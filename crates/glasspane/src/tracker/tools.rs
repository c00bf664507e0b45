//! Follows tool calls.

use super::state::push_tail;
use super::{
    MAX_ALL_ARGUMENTS_BYTES, MAX_ARGUMENTS_BYTES, MAX_CALL_TEXT_BYTES, MAX_OPEN_TOOLS,
    MAX_STATE_FIELD_BYTES, MAX_TOOL_TEXT_BYTES, OpenTool, RunningTool, Tracker, cut,
};
use crate::{Event, Status, arguments};

impl Tracker {
    pub(super) fn tool_start(&mut self, event: &Event, at: u64) {
        let id = event.tool_id.as_deref().unwrap_or("");
        if self.open_tool(id).is_some() {
            self.violation(format!("tool {id} started twice"));
            return;
        }
        self.state.tools += 1;
        if self.open_tools.len() < MAX_OPEN_TOOLS {
            let name = event.tool_name.as_deref().unwrap_or("?");
            self.open_tools.push(OpenTool {
                id: cut(id, MAX_STATE_FIELD_BYTES).to_owned(),
                name: cut(name, MAX_STATE_FIELD_BYTES).to_owned(),
                waits: false,
            });
            self.state.running.push(RunningTool::new(id, name, at));
        } else {
            self.violation(format!("more than {MAX_OPEN_TOOLS} tools at a time"));
        }
        self.settle(Status::RunningTool, at);
    }

    pub(super) fn tool_update(&mut self, event: &Event, at: u64) {
        let id = event.tool_id.as_deref().unwrap_or("");
        let Some(index) = self.open_tool(id) else {
            // Complete arguments only repeat what was reported before.
            if event.arguments != Some(true) || !event.whole {
                self.violation(format!("tool {id} continues but was not started"));
            }
            return;
        };
        if event.arguments == Some(true) {
            self.take_arguments(event);
        }
        if event.arguments != Some(true) && std::mem::take(&mut self.open_tools[index].waits) {
            self.settle(Status::RunningTool, at);
        }
    }

    fn take_arguments(&mut self, event: &Event) {
        let id = cut(
            event.tool_id.as_deref().unwrap_or(""),
            MAX_STATE_FIELD_BYTES,
        );
        let running = &mut self.state.running;
        let Some(index) = running.iter().position(|tool| tool.id == id) else {
            return;
        };
        let all: usize = running.iter().map(|tool| tool.arguments.len()).sum();
        let tool = &mut running[index];
        let room = MAX_ALL_ARGUMENTS_BYTES.saturating_sub(all - tool.arguments.len());
        let limit = room.min(MAX_ARGUMENTS_BYTES);
        tool.add_arguments(event.text.as_deref(), event.whole, limit);
    }

    /// Keeps the description of a call that has ended, for later searches.
    fn remember_call(&mut self, id: &str, result: &str) {
        let id = cut(id, MAX_STATE_FIELD_BYTES);
        let call = self.state.running.iter().find(|tool| tool.id == id);
        let (name, arguments) = call.map_or(("", String::new()), |tool| {
            (tool.name.as_str(), arguments::words(&tool.arguments))
        });
        let line = format!(
            "{name} {} {}\n",
            cut(&arguments, MAX_CALL_TEXT_BYTES),
            cut(result, MAX_CALL_TEXT_BYTES)
        );
        push_tail(&mut self.state.tool_text, &line, MAX_TOOL_TEXT_BYTES);
    }

    pub(super) fn tool_end(&mut self, event: &Event, at: u64) {
        let id = event.tool_id.as_deref().unwrap_or("");
        self.remember_call(id, event.text.as_deref().unwrap_or(""));
        match self.open_tool(id) {
            Some(index) => {
                self.open_tools.remove(index);
            }
            None => self.violation(format!("tool {id} ended but was not started")),
        }
        self.unlinked_approvals = 0;
        self.contacted(&event.network);
        if event.is_error == Some(true) {
            self.state.tool_errors += 1;
        }
        self.settle(Status::Thinking, at);
    }

    pub(super) fn open_tool(&self, id: &str) -> Option<usize> {
        let id = cut(id, MAX_STATE_FIELD_BYTES);
        self.open_tools.iter().position(|tool| tool.id == id)
    }

    pub(super) fn show_tools(&mut self) {
        let open = &self.open_tools;
        if self.state.running.len() != open.len() {
            let runs = |tool: &RunningTool| open.iter().any(|open| open.id == tool.id);
            self.state.running.retain(runs);
        }
        let has_unlinked = self.unlinked_approvals > 0;
        self.state
            .approvals
            .retain(|approval| match &approval.tool_id {
                Some(id) if approval.linked => open.iter().any(|open| open.waits && open.id == *id),
                _ => has_unlinked,
            });
        let shown = &mut self.state.tools_running;
        if shown.len() == self.open_tools.len()
            && shown
                .iter()
                .zip(&self.open_tools)
                .all(|(shown, open)| *shown == open.name)
        {
            return;
        }
        *shown = self
            .open_tools
            .iter()
            .map(|tool| tool.name.clone())
            .collect();
        self.state.tool = shown.last().cloned();
    }
}
