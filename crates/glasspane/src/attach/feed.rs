//! Passes the output of an agent on to a hub.

use std::collections::HashMap;

use crate::record::{Attached, Detached};
use crate::source::{ChildFinding, Finding, Identity, Reader, SourceKind};
use crate::{AgentHandle, Hub, MAX_AGENTS, Record, Status, now_ms};

/// Reads the bytes of one agent, or of a log of many, and reports to a hub.
pub struct Feed {
    hub: Hub,
    reader: Reader,
    attached: Attached,
    /// `None` until something is reported about the agent; a log is not an agent.
    agent: Option<AgentHandle>,
    /// Agents that this one started, by their keys.
    children: HashMap<String, AgentHandle>,
    /// Agents of a log, by the ids they have there.
    logged: HashMap<String, Logged>,
    findings: Vec<Finding>,
    records: Vec<Record>,
}

/// An agent of a log.
struct Logged {
    handle: AgentHandle,
    has_left: bool,
}

impl Feed {
    /// Reads an agent of `kind`, or detects its kind. Fills in `attached.source`.
    pub fn new(hub: &Hub, mut attached: Attached, kind: Option<SourceKind>) -> Self {
        attached.source = kind.map_or("auto", SourceKind::name).to_owned();
        Self {
            hub: hub.clone(),
            reader: Reader::new(kind),
            attached,
            agent: None,
            children: HashMap::new(),
            logged: HashMap::new(),
            findings: Vec::new(),
            records: Vec::new(),
        }
    }

    /// Shows the agent before it has any output.
    pub fn attach(&mut self) -> &str {
        let (hub, attached) = (&self.hub, &self.attached);
        self.agent
            .get_or_insert_with(|| hub.attach(attached.clone()))
            .id()
    }

    /// The id of the agent, once it is attached.
    pub fn id(&self) -> Option<&str> {
        self.agent.as_ref().map(AgentHandle::id)
    }

    /// Which kind of agent it is, once that is known.
    pub fn kind(&self) -> Option<SourceKind> {
        self.reader.kind()
    }

    /// Whether it is known to carry records of other agents.
    pub fn is_log(&self) -> bool {
        self.kind() == Some(SourceKind::Glasspane)
    }

    /// Reads the next bytes of output.
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut findings = std::mem::take(&mut self.findings);
        self.reader.feed(bytes, &mut findings);
        self.report(&mut findings);
        self.findings = findings;
    }

    /// Drops an incomplete line: the input was rewritten from the start.
    pub fn restart(&mut self) {
        self.reader.restart();
    }

    /// Reports something that did not come from the agent's output.
    pub fn report_finding(&mut self, finding: Finding) {
        self.report(&mut vec![finding]);
    }

    /// Reports that a live stream has ended, so that the agents of its log are out of sight. A log that
    /// was recorded needs no such end: its agents stay as they were.
    pub fn finish_live(mut self, detached: Detached) -> Status {
        let reason = format!("{}: {}", self.attached.label, detached.reason);
        for (_, logged) in self.logged.drain().filter(|(_, logged)| !logged.has_left) {
            logged.handle.detach(Detached {
                reason: reason.clone(),
                interrupted: true,
                ..Detached::default()
            });
        }
        self.finish(detached)
    }

    /// Reports that the agent has left, and returns its final status.
    pub fn finish(mut self, detached: Detached) -> Status {
        let mut findings = Vec::new();
        self.reader.finish(&mut findings);
        self.report(&mut findings);
        for (_, child) in self.children.drain() {
            // The exit code of a process says nothing about its children, which may have ended before.
            child.detach(Detached {
                failed: false,
                exit_code: None,
                ..detached.clone()
            });
        }
        // A log is not an agent, but people must see why it broke off.
        if detached.failed && !detached.interrupted {
            self.attach();
        }
        let Some(agent) = self.agent else {
            return match detached.interrupted {
                true => Status::Interrupted,
                false => Status::Done,
            };
        };
        let id = agent.id().to_owned();
        agent.detach(detached);
        let state = self.hub.agent(&id);
        state.map_or(Status::Failed, |state| state.status)
    }

    /// Shows that what was taken for an agent carries the records of others.
    fn leave_to_logged(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.detach(Detached {
                reason: "carries the records of other agents".to_owned(),
                ..Detached::default()
            });
        }
    }

    fn report(&mut self, findings: &mut Vec<Finding>) {
        let at_ms = now_ms();
        let mut records = std::mem::take(&mut self.records);
        for finding in findings.drain(..) {
            match finding {
                Finding::Record(record) => {
                    // Keeps the order of the records collected for other agents.
                    self.hub.put_all(records.drain(..));
                    self.leave_to_logged();
                    self.replay(*record);
                }
                Finding::Identity(identity) => {
                    if let Some(record) = self.identify(identity, at_ms) {
                        records.push(record);
                    }
                }
                Finding::Child(child) => {
                    self.hub.put_all(records.drain(..));
                    records.extend(self.child(*child, at_ms));
                }
                Finding::Event(event) => {
                    let id = self.attach().to_owned();
                    records.push(Record::of_event(id, at_ms, event));
                }
                Finding::Usage(usage) => {
                    let id = self.attach().to_owned();
                    records.push(Record::of_usage(id, at_ms, usage));
                }
            }
        }
        if !records.is_empty() {
            self.hub.put_all(records.drain(..));
        }
        self.records = records;
    }

    /// Adds a record of an agent that this one started, which is a separate agent.
    fn child(&mut self, child: ChildFinding, at_ms: u64) -> Option<Record> {
        let parent = self.attach().to_owned();
        let (hub, attached) = (&self.hub, &self.attached);
        let agent = self.children.entry(child.key).or_insert_with(|| {
            hub.attach(Attached {
                label: format!("{} › {}", attached.label, child.label),
                parent: Some(parent),
                model: None,
                ..attached.clone()
            })
        });
        match child.finding {
            Finding::Event(event) => Some(Record::of_event(agent.id(), at_ms, event)),
            Finding::Usage(usage) => Some(Record::of_usage(agent.id(), at_ms, usage)),
            Finding::Identity(_) | Finding::Record(_) | Finding::Child(_) => None,
        }
    }

    fn identify(&mut self, identity: Identity, at_ms: u64) -> Option<Record> {
        if let Some(source) = identity.source {
            self.attached.source = source.name().to_owned();
        }
        self.attached.model = identity.model.or(self.attached.model.take());
        self.attached.cwd = identity.cwd.or(self.attached.cwd.take());
        let id = self.agent.as_ref()?.id().to_owned();
        Some(Record::of_attached(id, at_ms, self.attached.clone()))
    }

    /// Adds a record of a log under an id of this hub.
    fn replay(&mut self, mut record: Record) {
        if let Some(attached) = &mut record.attached {
            let parent = attached.parent.as_ref().and_then(|id| self.logged.get(id));
            attached.parent = parent.map(|agent| agent.handle.id().to_owned());
        }
        if let Some(agent) = self.logged.get_mut(&record.agent) {
            agent.has_left = match record.attached {
                Some(_) => false,
                None => agent.has_left || record.detached.is_some(),
            };
            record.agent = agent.handle.id().to_owned();
            self.hub.put(record);
            return;
        }
        if self.logged.len() >= MAX_AGENTS {
            self.logged.retain(|_, agent| !agent.has_left);
        }
        if self.logged.len() >= MAX_AGENTS {
            return;
        }
        let attached = match record.attached.take() {
            Some(attached) => *attached,
            None => Attached {
                label: record.agent.clone(),
                source: SourceKind::Glasspane.name().to_owned(),
                ..Attached::default()
            },
        };
        let handle = self.hub.attach_at(attached, record.at_ms);
        let has_left = record.detached.is_some();
        let logged_id = std::mem::replace(&mut record.agent, handle.id().to_owned());
        if record.event.is_some() || record.usage.is_some() || record.detached.is_some() {
            self.hub.put(record);
        }
        self.logged.insert(logged_id, Logged { handle, has_left });
    }
}
