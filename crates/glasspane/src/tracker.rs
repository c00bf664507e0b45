//! Derives what an agent is doing from its records. Pure: the time comes with the records.

mod calls;
mod state;
#[cfg(test)]
mod tests;

pub use calls::{
    MAX_ALL_ARGUMENTS_BYTES, MAX_APPROVALS, MAX_ARGUMENTS_BYTES, PendingApproval, RunningTool,
};
pub use state::{AgentState, Status};

use crate::record::{Attached, Detached};
use crate::{Event, Kind, Record, arguments};

/// How many tools of one agent may run at a time; more are counted, not followed.
///
/// Limit: further tools are counted, not followed.
pub const MAX_OPEN_TOOLS: usize = 256;

/// How many broken rules are kept in words; all are counted.
///
/// Limit: only the last violations are kept.
pub const MAX_VIOLATIONS: usize = 20;

/// How much of the last text is kept.
///
/// Limit: only the end of a message is kept.
pub const MAX_MESSAGE_TAIL_BYTES: usize = 2 * 1024;

/// How much of an error, a label or a name is kept.
///
/// Limit: a name, id, prompt or error in an agent's state is cut.
pub const MAX_STATE_FIELD_BYTES: usize = 1024;

/// How much of the calls that have ended is kept to be searched, and how much of one argument or result.
///
/// Limit: a search sees only the end of what past calls were about.
pub const MAX_TOOL_TEXT_BYTES: usize = 2 * 1024;
const MAX_CALL_TEXT_BYTES: usize = 512;

/// Follows one agent.
#[derive(Debug, Clone)]
pub struct Tracker {
    state: AgentState,
    turn_open: bool,
    /// Tools that have started and not ended, oldest first: id, name, and whether it waits for a person.
    open_tools: Vec<OpenTool>,
    /// Approvals that belong to no tool. An agent that continues has got them, even without a report.
    approvals: u64,
    /// Whether the last message came in pieces that a following one does not belong to.
    text_complete: bool,
    /// Whether the prompt at hand went wrong, was interrupted, or was broken off by either.
    failed: bool,
    interrupted: bool,
    broken_off: bool,
    /// Whether the failure of this prompt is in the count of errors: agents tell of one several times.
    counted: bool,
    /// Whether work has started whose end was not reported.
    begun: bool,
    /// Whether any output of the agent was understood.
    understood: bool,
    /// Whether the agent reported that it is done, and no new prompt has arrived.
    over: bool,
}

#[derive(Debug, Clone)]
struct OpenTool {
    id: String,
    name: String,
    waits: bool,
}

impl Tracker {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            state: AgentState::new(id.into()),
            turn_open: false,
            open_tools: Vec::new(),
            approvals: 0,
            text_complete: true,
            failed: false,
            interrupted: false,
            broken_off: false,
            counted: false,
            begun: false,
            understood: false,
            over: false,
        }
    }

    pub fn state(&self) -> &AgentState {
        &self.state
    }

    pub fn into_state(self) -> AgentState {
        self.state
    }

    /// Takes note of a record of this agent.
    pub fn apply(&mut self, record: &Record) {
        if self.state.started_ms == 0 {
            self.state.started_ms = record.at_ms;
            self.state.since_ms = record.at_ms;
        }
        self.state.last_ms = record.at_ms;
        if let Some(attached) = &record.attached {
            self.attached(attached, record.at_ms);
        }
        if let Some(usage) = &record.usage {
            self.state.usage.raise_to(usage);
        }
        if let Some(event) = &record.event {
            self.event(event, record.at_ms);
        }
        if let Some(detached) = &record.detached {
            self.detached(detached, record.at_ms);
        }
    }

    fn attached(&mut self, attached: &Attached, at: u64) {
        self.state.label = cut(&attached.label, MAX_STATE_FIELD_BYTES).to_owned();
        self.state.source = cut(&attached.source, MAX_STATE_FIELD_BYTES).to_owned();
        let known = |told: &Option<String>| {
            told.as_deref()
                .map(|name| cut(name, MAX_STATE_FIELD_BYTES).to_owned())
        };
        self.state.cwd = known(&attached.cwd).or(self.state.cwd.take());
        self.state.model = known(&attached.model).or(self.state.model.take());
        self.state.parent = known(&attached.parent).or(self.state.parent.take());
        if self.state.detached.take().is_some() {
            self.forget_work();
            self.forget_outcome();
            self.begun = false;
            self.state.ended_ms = None;
            // It counts from 0 again.
            self.state.usage = crate::Usage::default();
            self.enter(Status::Starting, at);
        }
    }

    fn detached(&mut self, detached: &Detached, at: u64) {
        let status = self.ending(detached);
        self.state.detached = Some(cut(&detached.reason, MAX_STATE_FIELD_BYTES).to_owned());
        self.state.ended_ms = Some(at);
        self.forget_work();
        self.begun = false;
        if status == Status::Failed {
            self.count_failure();
            let reason = cut(&detached.reason, MAX_STATE_FIELD_BYTES);
            self.state.error.get_or_insert_with(|| reason.to_owned());
        }
        self.enter(status, at);
    }

    /// What an agent said of its end counts first, then how its process ended. A stream that ends in the middle of the
    /// work, and with no word of a failure, was interrupted.
    fn ending(&self, detached: &Detached) -> Status {
        let silent = self.state.unknown > 0 && !self.understood;
        match self.state.status {
            Status::Done if self.over && detached.failed && !detached.interrupted => Status::Failed,
            told if self.over => told,
            _ if self.failed => Status::Failed,
            _ if self.interrupted || detached.interrupted => Status::Interrupted,
            _ if detached.failed => Status::Failed,
            _ if self.begun => Status::Interrupted,
            _ if silent => Status::NotUnderstood,
            // It was asked nothing, and went in peace.
            _ => Status::Done,
        }
    }

    fn event(&mut self, event: &Event, at: u64) {
        self.check_order(event);
        if is_work(event) {
            self.begun = true;
        }
        if !matches!(event.kind, Kind::Notice | Kind::Unknown) {
            self.understood = true;
        }
        match event.kind {
            Kind::AgentStart => self.prompt_begins(at),
            Kind::AgentEnd => self.agent_end(event, at),
            Kind::TurnStart => self.turn_start(event, at),
            Kind::TurnEnd => self.turn_end(event, at),
            Kind::MessageStart => {
                self.text_complete = true;
                self.approvals = 0;
                self.settle(Status::Thinking, at);
            }
            Kind::MessageUpdate => self.message_update(event, at),
            Kind::MessageEnd => self.message_end(event, at),
            Kind::ToolExecutionStart => self.tool_start(event, at),
            Kind::ToolExecutionUpdate => self.tool_update(event, at),
            Kind::ToolExecutionEnd => self.tool_end(event, at),
            Kind::ApprovalRequest => self.approval_request(event, at),
            Kind::ApprovalEnd => self.approval_end(event, at),
            Kind::Retry => self.retry(event, at),
            Kind::Notice => {}
            Kind::Error => self.error(event, at),
            Kind::Unknown => self.unknown(at),
        }
    }

    /// After the end, only a new prompt may bring the agent back to work.
    fn check_order(&mut self, event: &Event) {
        if !self.over {
            return;
        }
        let begins = match event.kind {
            Kind::AgentStart => true,
            Kind::MessageUpdate | Kind::MessageStart | Kind::MessageEnd => {
                event.role.as_deref() == Some("user")
            }
            // A failure that turns out not to be the last word.
            Kind::Retry => true,
            Kind::Notice | Kind::Error | Kind::Unknown => return,
            _ => false,
        };
        if !begins {
            self.violation(format!("{} after the end", kind_name(event.kind)));
        }
        self.over = false;
    }

    fn prompt_begins(&mut self, at: u64) {
        self.forget_outcome();
        self.begun = true;
        self.state.error = None;
        if !self.turn_open && self.open_tools.is_empty() {
            // What was asked for before belonged to the last prompt.
            self.approvals = 0;
            self.state.approvals.clear();
            self.enter(Status::Thinking, at);
        }
    }

    fn forget_outcome(&mut self) {
        self.over = false;
        self.failed = false;
        self.interrupted = false;
        self.broken_off = false;
        self.counted = false;
    }

    fn agent_end(&mut self, event: &Event, at: u64) {
        match event.stop.as_deref() {
            Some("aborted") => {
                self.interrupted = true;
                self.failed = false;
                self.broken_off = true;
            }
            Some("error") => {
                self.failed = true;
                self.broken_off = true;
            }
            _ => {}
        }
        if !self.broken_off {
            if self.turn_open {
                self.violation("the agent ended within a turn".to_owned());
            }
            for tool in std::mem::take(&mut self.open_tools) {
                self.violation(format!("tool {} ({}) never ended", tool.id, tool.name));
            }
        }
        self.forget_work();
        self.over = true;
        self.begun = false;
        self.state.prompts_over += 1;
        let status = if self.failed {
            self.count_failure();
            Status::Failed
        } else if self.interrupted {
            Status::Interrupted
        } else {
            Status::Done
        };
        self.enter(status, at);
    }

    fn count_failure(&mut self) {
        if !std::mem::replace(&mut self.counted, true) {
            self.state.errors += 1;
        }
    }

    /// The failure before it was not the last word.
    fn retry(&mut self, event: &Event, at: u64) {
        self.failed = false;
        self.state.error = None;
        self.enter(Status::Retrying, at);
        self.state.retry = event.retry.as_deref().cloned();
    }

    fn unknown(&mut self, at: u64) {
        self.state.unknown += 1;
        if !self.understood {
            self.enter(Status::NotUnderstood, at);
        }
    }

    fn turn_start(&mut self, event: &Event, at: u64) {
        self.approvals = 0;
        if self.turn_open {
            let step = event
                .step
                .map_or_else(String::new, |step| format!(" {step}"));
            self.violation(format!("turn{step} started within a turn"));
        }
        self.turn_open = true;
        self.broken_off = false;
        self.state.turns += 1;
        self.settle(Status::Thinking, at);
    }

    fn turn_end(&mut self, event: &Event, at: u64) {
        // An error ends the turn as well; some agents say both.
        if !self.turn_open && !self.broken_off {
            self.violation("a turn ended that was not started".to_owned());
        }
        self.turn_open = false;
        self.approvals = 0;
        match event.stop.as_deref() {
            Some("error") => {
                self.failed = true;
                self.broken_off = true;
            }
            Some("aborted") => {
                self.interrupted = true;
                self.broken_off = true;
            }
            Some("length") => self.broken_off = true,
            _ => {}
        }
        if self.broken_off {
            // Calls that were being written are forgotten without a word.
            self.open_tools.clear();
        }
        if let Some(message) = event.message.as_ref().filter(|_| self.failed) {
            self.state.error = Some(cut(message, MAX_STATE_FIELD_BYTES).to_owned());
        }
        self.settle(Status::Idle, at);
    }

    fn message_update(&mut self, event: &Event, at: u64) {
        if event.role.as_deref() == Some("user") {
            self.take_prompt(event);
            if !self.turn_open && self.open_tools.is_empty() {
                self.prompt_begins(at);
            }
            return;
        }
        if event.thinking == Some(true) {
            self.settle(Status::Thinking, at);
            return;
        }
        let Some(text) = &event.text else { return };
        self.take_text(text, event.whole || self.text_complete);
        self.text_complete = false;
        self.settle(Status::Writing, at);
    }

    fn message_end(&mut self, event: &Event, at: u64) {
        if event.role.as_deref() == Some("user") {
            return;
        }
        if let Some(text) = event.text.as_deref().filter(|text| !text.is_empty()) {
            self.take_text(text, event.whole || self.text_complete);
        }
        self.text_complete = true;
        if self.state.status.is_working() {
            self.settle(Status::Thinking, at);
        }
    }

    fn take_text(&mut self, text: &str, replaces: bool) {
        if replaces {
            self.state.last_text.clear();
        }
        state::push_tail(&mut self.state.last_text, text, MAX_MESSAGE_TAIL_BYTES);
    }

    fn take_prompt(&mut self, event: &Event) {
        let Some(text) = &event.text else { return };
        if event.whole {
            self.state.prompt = cut(text, MAX_STATE_FIELD_BYTES).to_owned();
        } else {
            state::push_tail(&mut self.state.prompt, text, MAX_STATE_FIELD_BYTES);
        }
    }

    fn tool_start(&mut self, event: &Event, at: u64) {
        let id = event.tool_id.as_deref().unwrap_or("");
        if self.open(id).is_some() {
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

    fn tool_update(&mut self, event: &Event, at: u64) {
        let id = event.tool_id.as_deref().unwrap_or("");
        let Some(index) = self.open(id) else {
            // The complete arguments only repeat what was reported before.
            if event.arguments != Some(true) || !event.whole {
                self.violation(format!("tool {id} goes on but was not started"));
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
        tool.take(event.text.as_deref(), event.whole, limit);
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
        state::push_tail(&mut self.state.tool_text, &line, MAX_TOOL_TEXT_BYTES);
    }

    fn tool_end(&mut self, event: &Event, at: u64) {
        let id = event.tool_id.as_deref().unwrap_or("");
        self.remember_call(id, event.text.as_deref().unwrap_or(""));
        match self.open(id) {
            Some(index) => {
                self.open_tools.remove(index);
            }
            None => self.violation(format!("tool {id} ended but was not started")),
        }
        self.approvals = 0;
        if event.is_error == Some(true) {
            self.state.tool_errors += 1;
        }
        self.settle(Status::Thinking, at);
    }

    fn approval_request(&mut self, event: &Event, at: u64) {
        let tool = event.tool_id.as_deref().and_then(|id| self.open(id));
        match tool {
            Some(index) => self.open_tools[index].waits = true,
            None => self.approvals = self.approvals.saturating_add(1),
        }
        self.ask(event, at);
        self.settle(Status::WaitingForApproval, at);
    }

    fn approval_end(&mut self, event: &Event, at: u64) {
        let tool = event.tool_id.as_deref().and_then(|id| self.open(id));
        match tool {
            Some(index) => self.open_tools[index].waits = false,
            None if self.approvals > 0 => {
                self.approvals -= 1;
                self.answered(event.tool_id.as_deref());
            }
            None => self.violation("an approval ended that was not asked for".to_owned()),
        }
        self.settle(Status::Thinking, at);
    }

    /// Notes what a person has to decide.
    fn ask(&mut self, event: &Event, at: u64) {
        let id = event
            .tool_id
            .as_deref()
            .map(|id| cut(id, MAX_STATE_FIELD_BYTES));
        let tool = id.filter(|id| self.open(id).is_some());
        let tool = tool.and_then(|id| self.state.running.iter().find(|tool| tool.id == id));
        let asked = PendingApproval::new(event, tool, at);
        let waiting = &mut self.state.approvals;
        let again = waiting
            .iter()
            .position(|before| before.linked && asked.linked && before.tool_id == asked.tool_id);
        match again {
            Some(index) => {
                let since_ms = waiting[index].since_ms;
                waiting[index] = PendingApproval { since_ms, ..asked };
            }
            None if waiting.len() < MAX_APPROVALS => waiting.push(asked),
            None => {}
        }
    }

    /// Forgets what was asked for under `id`, or what was asked for first, of what belongs to no tool.
    fn answered(&mut self, id: Option<&str>) {
        let id = id.map(|id| cut(id, MAX_STATE_FIELD_BYTES));
        let waiting = &mut self.state.approvals;
        let named = waiting
            .iter()
            .position(|asked| !asked.linked && id.is_some() && asked.tool_id.as_deref() == id);
        let first = waiting.iter().position(|asked| !asked.linked);
        if let Some(index) = named.or(first) {
            waiting.remove(index);
        }
    }

    fn error(&mut self, event: &Event, at: u64) {
        let message = event.message.as_deref().unwrap_or("failed");
        let refused = event.raw_type.as_deref() == Some("response");
        // A report after an interruption is about the interruption.
        if !refused && self.over && self.state.status == Status::Interrupted {
            return;
        }
        self.state.error = Some(cut(message, MAX_STATE_FIELD_BYTES).to_owned());
        // A refused command is a problem of its sender, not of the agent.
        if refused {
            self.state.errors += 1;
            self.state.prompts_over += u64::from(message.starts_with("prompt:"));
            return;
        }
        self.count_failure();
        self.failed = true;
        self.broken_off = true;
        self.forget_work();
        self.enter(Status::Failed, at);
    }

    fn forget_work(&mut self) {
        self.turn_open = false;
        self.open_tools.clear();
        self.approvals = 0;
        self.state.tools_running.clear();
        self.state.running.clear();
        self.state.approvals.clear();
        self.state.tool = None;
    }

    fn open(&self, id: &str) -> Option<usize> {
        let id = cut(id, MAX_STATE_FIELD_BYTES);
        self.open_tools.iter().position(|tool| tool.id == id)
    }

    /// Goes to `status`, unless a tool runs or a person is waited for, which is what is shown then.
    fn settle(&mut self, status: Status, at: u64) {
        let waiting = self.approvals > 0 || self.open_tools.iter().any(|tool| tool.waits);
        let status = if waiting {
            Status::WaitingForApproval
        } else if self.open_tools.is_empty() {
            status
        } else {
            Status::RunningTool
        };
        self.show_tools();
        self.enter(status, at);
    }

    fn show_tools(&mut self) {
        let open = &self.open_tools;
        if self.state.running.len() != open.len() {
            let runs = |tool: &RunningTool| open.iter().any(|open| open.id == tool.id);
            self.state.running.retain(runs);
        }
        let loose = self.approvals > 0;
        self.state.approvals.retain(|asked| match &asked.tool_id {
            Some(id) if asked.linked => open.iter().any(|open| open.waits && open.id == *id),
            _ => loose,
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

    fn enter(&mut self, status: Status, at: u64) {
        self.state.retry = None;
        if self.state.status == status {
            return;
        }
        if self.state.status.is_working() {
            self.state.working_ms += at.saturating_sub(self.state.since_ms);
        }
        self.state.status = status;
        self.state.since_ms = at;
    }

    fn violation(&mut self, what: String) {
        self.state.violation_count += 1;
        if self.state.violations.len() == MAX_VIOLATIONS {
            self.state.violations.remove(0);
        }
        self.state
            .violations
            .push(cut(&what, MAX_STATE_FIELD_BYTES).to_owned());
    }
}

/// The beginning of `text`, of at most `limit` bytes.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Returns whether the agent is at work when it reports this.
fn is_work(event: &Event) -> bool {
    !matches!(
        event.kind,
        Kind::AgentEnd | Kind::Notice | Kind::Error | Kind::Unknown
    )
}

fn kind_name(kind: Kind) -> String {
    serde_json::to_value(kind)
        .ok()
        .and_then(|name| name.as_str().map(str::to_owned))
        .unwrap_or_default()
}
