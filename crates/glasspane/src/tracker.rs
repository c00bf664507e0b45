//! Derives what an agent is doing from its records. Pure: the time comes with the records.

mod approvals;
mod calls;
mod messages;
mod prompt;
mod state;
#[cfg(test)]
mod tests;
mod tools;

pub use calls::{
    MAX_ALL_ARGUMENTS_BYTES, MAX_APPROVALS, MAX_ARGUMENTS_BYTES, PendingApproval, RunningTool,
};
pub use state::{AgentState, ContactedHost, Status};

use crate::{Contact, Event, Kind, Record};

/// How many tools of one agent may run at a time; more are counted, not followed.
///
/// Limit: further tools are counted, not followed.
pub const MAX_OPEN_TOOLS: usize = 256;

/// How many protocol violations are kept; all are counted.
///
/// Limit: only the last violations are kept.
pub const MAX_VIOLATIONS: usize = 20;

/// How many hosts that an agent contacted are kept.
///
/// Limit: only the hosts that were contacted last are kept.
pub const MAX_HOSTS: usize = 64;

/// How much of the last text is kept.
///
/// Limit: only the end of a message is kept.
pub const MAX_MESSAGE_TAIL_BYTES: usize = 2 * 1024;

/// How much of an error, a label or a name is kept.
///
/// Limit: a name, id, prompt or error in an agent's state is cut.
pub const MAX_STATE_FIELD_BYTES: usize = 1024;

/// How much of past calls is kept for searches, and how much of one argument or result.
///
/// Limit: a search sees only the most recent of the past calls.
pub const MAX_TOOL_TEXT_BYTES: usize = 2 * 1024;
const MAX_CALL_TEXT_BYTES: usize = 512;

/// Tracks the state of one agent.
#[derive(Debug, Clone)]
pub struct Tracker {
    state: AgentState,
    turn_open: bool,
    /// Tools that have started and not ended, oldest first.
    open_tools: Vec<OpenTool>,
    /// Pending approvals that belong to no tool. They count as given when the agent continues.
    unlinked_approvals: u64,
    /// Whether the last message is complete, so that the next delta starts another.
    text_complete: bool,
    prompt: Prompt,
    /// Whether any output of the agent was understood.
    understood: bool,
}

/// How the current prompt is going.
#[derive(Debug, Clone, Default)]
struct Prompt {
    /// Whether work has started whose end was not reported.
    started: bool,
    failed: bool,
    interrupted: bool,
    /// Whether a failure, an interruption or a limit ended the turn early.
    broken_off: bool,
    /// Whether its failure has been counted: agents report the same failure several times.
    failure_counted: bool,
    /// Whether its end was reported.
    over: bool,
}

#[derive(Debug, Clone)]
struct OpenTool {
    id: String,
    name: String,
    /// Whether it waits for a person.
    waits: bool,
}

impl Tracker {
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            state: AgentState::new(id.into()),
            turn_open: false,
            open_tools: Vec::new(),
            unlinked_approvals: 0,
            text_complete: true,
            prompt: Prompt::default(),
            understood: false,
        }
    }

    pub fn state(&self) -> &AgentState {
        &self.state
    }

    pub fn into_state(self) -> AgentState {
        self.state
    }

    /// Updates the state with a record of this agent.
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

    fn event(&mut self, event: &Event, at: u64) {
        self.check_order(event);
        if is_work(event) {
            self.prompt.started = true;
        }
        if !matches!(event.kind, Kind::Notice | Kind::Unknown) {
            self.understood = true;
        }
        match event.kind {
            Kind::AgentStart => self.start_prompt(at),
            Kind::AgentEnd => self.agent_end(event, at),
            Kind::TurnStart => self.turn_start(event, at),
            Kind::TurnEnd => self.turn_end(event, at),
            Kind::MessageStart => self.message_start(at),
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

    /// Checks that after the end only a new prompt, or a retry, continues the work.
    fn check_order(&mut self, event: &Event) {
        if !self.prompt.over {
            return;
        }
        let restarts = match event.kind {
            Kind::AgentStart => true,
            Kind::MessageUpdate | Kind::MessageStart | Kind::MessageEnd => {
                event.role.as_deref() == Some("user")
            }
            // The failure before was not final.
            Kind::Retry => true,
            Kind::Notice | Kind::Error | Kind::Unknown => return,
            _ => false,
        };
        if !restarts {
            self.violation(format!("{} after the end", kind_name(event.kind)));
        }
        self.prompt.over = false;
    }

    /// Enters `status`, unless a tool is running or something waits for a person.
    fn settle(&mut self, status: Status, at: u64) {
        let waiting = self.unlinked_approvals > 0 || self.open_tools.iter().any(|tool| tool.waits);
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

    /// Counts hosts, the latest one last.
    fn contacted(&mut self, contacts: &[Contact]) {
        let hosts = &mut self.state.hosts;
        for contact in contacts {
            let host = cut(&contact.host, MAX_STATE_FIELD_BYTES);
            let mut found = ContactedHost {
                host: host.to_owned(),
                port: contact.port,
                allowed: contact.allowed,
                times: 0,
            };
            let is_same = |known: &ContactedHost| {
                (&known.host, known.port, known.allowed) == (&found.host, found.port, found.allowed)
            };
            if let Some(index) = hosts.iter().position(is_same) {
                found = hosts.remove(index);
            } else if hosts.len() == MAX_HOSTS {
                hosts.remove(0);
            }
            found.times += 1;
            hosts.push(found);
        }
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

/// Returns at most the first `limit` bytes of `text`.
fn cut(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Whether the agent is working when it reports this event.
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
