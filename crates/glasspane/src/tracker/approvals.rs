//! Follows what waits for a person.

use super::{MAX_APPROVALS, MAX_STATE_FIELD_BYTES, PendingApproval, Tracker, cut};
use crate::{Event, Status};

impl Tracker {
    pub(super) fn approval_request(&mut self, event: &Event, at: u64) {
        let tool = event.tool_id.as_deref().and_then(|id| self.open_tool(id));
        match tool {
            Some(index) => self.open_tools[index].waits = true,
            None => self.unlinked_approvals = self.unlinked_approvals.saturating_add(1),
        }
        self.add_approval(event, at);
        self.settle(Status::WaitingForApproval, at);
    }

    pub(super) fn approval_end(&mut self, event: &Event, at: u64) {
        let tool = event.tool_id.as_deref().and_then(|id| self.open_tool(id));
        match tool {
            Some(index) => self.open_tools[index].waits = false,
            None if self.unlinked_approvals > 0 => {
                self.unlinked_approvals -= 1;
                self.approval_decided(event.tool_id.as_deref());
            }
            None => self.violation("an approval ended that was not requested".to_owned()),
        }
        self.settle(Status::Thinking, at);
    }

    /// Adds what a person has to decide.
    fn add_approval(&mut self, event: &Event, at: u64) {
        let id = event
            .tool_id
            .as_deref()
            .map(|id| cut(id, MAX_STATE_FIELD_BYTES));
        let tool = id.filter(|id| self.open_tool(id).is_some());
        let tool = tool.and_then(|id| self.state.running.iter().find(|tool| tool.id == id));
        let approval = PendingApproval::new(event, tool, at);
        let waiting = &mut self.state.approvals;
        let repeated = waiting.iter().position(|before| {
            before.linked && approval.linked && before.tool_id == approval.tool_id
        });
        match repeated {
            Some(index) => {
                let since_ms = waiting[index].since_ms;
                waiting[index] = PendingApproval {
                    since_ms,
                    ..approval
                };
            }
            None if waiting.len() < MAX_APPROVALS => waiting.push(approval),
            None => {}
        }
    }

    /// Removes the approval with `id`, or else the oldest, of those that belong to no tool.
    fn approval_decided(&mut self, id: Option<&str>) {
        let id = id.map(|id| cut(id, MAX_STATE_FIELD_BYTES));
        let waiting = &mut self.state.approvals;
        let named = waiting.iter().position(|approval| {
            !approval.linked && id.is_some() && approval.tool_id.as_deref() == id
        });
        let first = waiting.iter().position(|approval| !approval.linked);
        if let Some(index) = named.or(first) {
            waiting.remove(index);
        }
    }
}
