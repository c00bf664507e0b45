//! Follows prompts and turns: how they start, fail and end.

use super::{MAX_STATE_FIELD_BYTES, Prompt, Tracker, cut};
use crate::record::{Attached, Detached};
use crate::{Event, Status, Usage};

impl Tracker {
    pub(super) fn attached(&mut self, attached: &Attached, at: u64) {
        self.state.label = cut(&attached.label, MAX_STATE_FIELD_BYTES).to_owned();
        self.state.source = cut(&attached.source, MAX_STATE_FIELD_BYTES).to_owned();
        let known = |field: &Option<String>| {
            field
                .as_deref()
                .map(|name| cut(name, MAX_STATE_FIELD_BYTES).to_owned())
        };
        self.state.cwd = known(&attached.cwd).or(self.state.cwd.take());
        self.state.model = known(&attached.model).or(self.state.model.take());
        self.state.parent = known(&attached.parent).or(self.state.parent.take());
        if self.state.detached.take().is_some() {
            self.forget_work();
            self.forget_outcome();
            self.prompt.started = false;
            self.state.ended_ms = None;
            // Its usage starts at 0 again.
            self.state.usage = Usage::default();
            self.enter(Status::Starting, at);
        }
    }

    pub(super) fn detached(&mut self, detached: &Detached, at: u64) {
        let status = self.ending(detached);
        self.state.detached = Some(cut(&detached.reason, MAX_STATE_FIELD_BYTES).to_owned());
        self.state.ended_ms = Some(at);
        self.forget_work();
        self.prompt.started = false;
        if status == Status::Failed {
            self.count_failure();
            let reason = cut(&detached.reason, MAX_STATE_FIELD_BYTES);
            self.state.error.get_or_insert_with(|| reason.to_owned());
        }
        self.enter(status, at);
    }

    /// Returns the final status: what the agent reported comes first, then how its process ended. A stream that
    /// ends in the middle of the work without a failure was interrupted.
    fn ending(&self, detached: &Detached) -> Status {
        let not_understood = self.state.unknown > 0 && !self.understood;
        match self.state.status {
            Status::Done if self.prompt.over && detached.failed && !detached.interrupted => {
                Status::Failed
            }
            reported if self.prompt.over => reported,
            _ if self.prompt.failed => Status::Failed,
            _ if self.prompt.interrupted || detached.interrupted => Status::Interrupted,
            _ if detached.failed => Status::Failed,
            _ if self.prompt.started => Status::Interrupted,
            _ if not_understood => Status::NotUnderstood,
            // It had no prompt.
            _ => Status::Done,
        }
    }

    pub(super) fn start_prompt(&mut self, at: u64) {
        self.forget_outcome();
        self.prompt.started = true;
        self.state.error = None;
        if !self.turn_open && self.open_tools.is_empty() {
            // Earlier approvals belonged to the last prompt.
            self.unlinked_approvals = 0;
            self.state.approvals.clear();
            self.enter(Status::Thinking, at);
        }
    }

    pub(super) fn agent_end(&mut self, event: &Event, at: u64) {
        match event.stop.as_deref() {
            Some("aborted") => {
                self.prompt.interrupted = true;
                self.prompt.failed = false;
                self.prompt.broken_off = true;
            }
            Some("error") => {
                self.prompt.failed = true;
                self.prompt.broken_off = true;
            }
            _ => {}
        }
        if !self.prompt.broken_off {
            if self.turn_open {
                self.violation("the agent ended within a turn".to_owned());
            }
            for tool in std::mem::take(&mut self.open_tools) {
                self.violation(format!("tool {} ({}) never ended", tool.id, tool.name));
            }
        }
        self.forget_work();
        self.prompt.over = true;
        self.prompt.started = false;
        self.state.prompts_over += 1;
        let status = if self.prompt.failed {
            self.count_failure();
            Status::Failed
        } else if self.prompt.interrupted {
            Status::Interrupted
        } else {
            Status::Done
        };
        self.enter(status, at);
    }

    pub(super) fn turn_start(&mut self, event: &Event, at: u64) {
        self.unlinked_approvals = 0;
        if self.turn_open {
            let step = event
                .step
                .map_or_else(String::new, |step| format!(" {step}"));
            self.violation(format!("turn{step} started within a turn"));
        }
        self.turn_open = true;
        self.prompt.broken_off = false;
        self.state.turns += 1;
        self.settle(Status::Thinking, at);
    }

    pub(super) fn turn_end(&mut self, event: &Event, at: u64) {
        // An error ends the turn as well; some agents report both.
        if !self.turn_open && !self.prompt.broken_off {
            self.violation("a turn ended that was not started".to_owned());
        }
        self.turn_open = false;
        self.unlinked_approvals = 0;
        match event.stop.as_deref() {
            Some("error") => {
                self.prompt.failed = true;
                self.prompt.broken_off = true;
            }
            Some("aborted") => {
                self.prompt.interrupted = true;
                self.prompt.broken_off = true;
            }
            Some("length") => self.prompt.broken_off = true,
            _ => {}
        }
        if self.prompt.broken_off {
            // Calls that were still being written never start.
            self.open_tools.clear();
        }
        if let Some(message) = event.message.as_ref().filter(|_| self.prompt.failed) {
            self.state.error = Some(cut(message, MAX_STATE_FIELD_BYTES).to_owned());
        }
        self.settle(Status::Idle, at);
    }

    /// Handles a retry: the failure before it was not final.
    pub(super) fn retry(&mut self, event: &Event, at: u64) {
        self.prompt.failed = false;
        self.state.error = None;
        self.enter(Status::Retrying, at);
        self.state.retry = event.retry.as_deref().cloned();
    }

    pub(super) fn error(&mut self, event: &Event, at: u64) {
        let message = event.message.as_deref().unwrap_or("failed");
        let is_response = event.raw_type.as_deref() == Some("response");
        // An error after an interruption is about the interruption.
        if !is_response && self.prompt.over && self.state.status == Status::Interrupted {
            return;
        }
        self.state.error = Some(cut(message, MAX_STATE_FIELD_BYTES).to_owned());
        // A failed command is a problem of its sender, not of the agent.
        if is_response {
            self.state.errors += 1;
            self.state.prompts_over += u64::from(message.starts_with("prompt:"));
            return;
        }
        self.count_failure();
        self.prompt.failed = true;
        self.prompt.broken_off = true;
        self.forget_work();
        self.enter(Status::Failed, at);
    }

    pub(super) fn unknown(&mut self, at: u64) {
        self.state.unknown += 1;
        if !self.understood {
            self.enter(Status::NotUnderstood, at);
        }
    }

    fn count_failure(&mut self) {
        if !std::mem::replace(&mut self.prompt.failure_counted, true) {
            self.state.errors += 1;
        }
    }

    /// Resets the outcome for a new prompt.
    fn forget_outcome(&mut self) {
        self.prompt = Prompt {
            started: self.prompt.started,
            ..Prompt::default()
        };
    }

    fn forget_work(&mut self) {
        self.turn_open = false;
        self.open_tools.clear();
        self.unlinked_approvals = 0;
        self.state.tools_running.clear();
        self.state.running.clear();
        self.state.approvals.clear();
        self.state.tool = None;
    }
}
