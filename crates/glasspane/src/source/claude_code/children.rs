//! Agents started by an agent, in the foreground of a call or in the background.

use std::collections::HashMap;

use serde_json::Value;

use super::super::fields::{content, count, owned, push, text};
use super::super::{ChildFinding, Finding};
use super::conversation::{Conversation, message_text};
use crate::{Event, Kind};

/// How many agents that one agent started are followed.
///
/// Limit: further child agents are not followed.
pub const MAX_CHILDREN: usize = 256;

/// Tools that start an agent, as claude and qwen name them.
const STARTS_AN_AGENT: [&str; 4] = ["Task", "Agent", "task", "agent"];

/// Child agents, by the id of the call that started each.
#[derive(Debug, Default)]
pub(super) struct Children {
    known: HashMap<String, Child>,
    /// Descriptions in the calls that start agents.
    descriptions: HashMap<String, String>,
    /// The calls that tasks belong to.
    tasks: HashMap<String, String>,
    last_was_stopped: bool,
}

#[derive(Debug, Default)]
struct Child {
    label: String,
    conversation: Conversation,
    in_background: bool,
    over: bool,
}

impl Children {
    /// Keeps the description of an agent from the call that starts it.
    pub(super) fn note_call(&mut self, block: &Value) {
        let name = text(block, "name").unwrap_or("");
        let Some(id) = text(block, "id").filter(|_| STARTS_AN_AGENT.contains(&name)) else {
            return;
        };
        if self.descriptions.len() < MAX_CHILDREN {
            let description = block.pointer("/input/description").and_then(Value::as_str);
            self.descriptions
                .insert(id.to_owned(), description.unwrap_or(name).to_owned());
        }
    }

    /// Handles a line of a child.
    pub(super) fn message(&mut self, id: &str, object: &Value, findings: &mut Vec<Finding>) {
        let mut found = Vec::new();
        let Some(child) = self.child(id, &mut found) else {
            return;
        };
        // The call has a result but the child continues: in the background, or after another message.
        if std::mem::take(&mut child.over) {
            child.in_background = true;
            push(&mut found, Event::new(Kind::AgentStart));
        }
        let conversation = &mut child.conversation;
        match text(object, "type").unwrap_or("") {
            "assistant" => conversation.assistant(object, &mut found),
            "user" => {
                if conversation.results(object, &mut found).is_empty() {
                    push(&mut found, Event::prompt(message_text(object)));
                }
            }
            _ => {
                if let Some(event) = object.get("event") {
                    conversation.stream(event, &mut found);
                }
            }
        }
        self.report(id, found, findings);
    }

    /// Handles reports about the tasks of an agent; some of them are agents.
    pub(super) fn task(&mut self, subtype: &str, object: &Value, findings: &mut Vec<Finding>) {
        let task = text(object, "task_id").unwrap_or("");
        let known = self.tasks.get(task).cloned();
        let Some(id) = known.or_else(|| self.agent_of_task(subtype, object)) else {
            return;
        };
        if self.tasks.len() < MAX_CHILDREN {
            self.tasks.insert(task.to_owned(), id.clone());
        }
        let mut found = Vec::new();
        let Some(child) = self.child(&id, &mut found) else {
            return;
        };
        let flag = |name: &str| {
            object
                .get(name)
                .or_else(|| object.pointer("/patch")?.get(name))
        };
        if flag("is_backgrounded").and_then(Value::as_bool) == Some(true) {
            child.in_background = true;
        }
        if let Some(usage) = object.get("usage") {
            child
                .conversation
                .count_total(count(usage, "total_tokens"), &mut found);
        }
        let status = match subtype {
            "task_notification" => text(object, "status"),
            _ => object.pointer("/patch/status").and_then(Value::as_str),
        };
        let summary = text(object, "summary").unwrap_or("").to_owned();
        let in_background = child.in_background;
        self.report(&id, found, findings);
        match (subtype, status) {
            // A child in the foreground ends with the result of its call, which is more detailed.
            ("task_notification", Some(status)) if in_background => {
                self.end(&id, Outcome::of_status(status), &summary, findings);
            }
            ("task_updated", Some("killed")) => {
                self.end(&id, Outcome::Stopped, &summary, findings);
            }
            ("task_progress", _) => self.progress(&id, object, findings),
            _ => {}
        }
    }

    fn agent_of_task(&self, subtype: &str, object: &Value) -> Option<String> {
        let call = owned(object, "tool_use_id");
        let started = call.as_ref().is_some_and(|call| {
            self.known.contains_key(call) || self.descriptions.contains_key(call)
        });
        let is_agent = subtype == "task_started"
            && (text(object, "task_type") == Some("local_agent")
                || text(object, "subagent_type").is_some());
        (started || is_agent).then(|| call.or_else(|| owned(object, "task_id")))?
    }

    fn progress(&mut self, id: &str, object: &Value, findings: &mut Vec<Finding>) {
        let summary = text(object, "summary").or_else(|| text(object, "description"));
        if let Some(summary) = summary.filter(|summary| !summary.is_empty()) {
            let event = Event {
                raw_type: Some("task_progress".to_owned()),
                ..Event::notice(summary)
            };
            self.report(id, vec![Finding::Event(event)], findings);
        }
    }

    /// Handles the result of the call that started a child: its end, unless it continues in the background.
    pub(super) fn call_ended(&mut self, id: &str, object: &Value, findings: &mut Vec<Finding>) {
        let details = object.get("tool_use_result").unwrap_or(&Value::Null);
        let launched = matches!(
            text(details, "status"),
            Some("async_launched" | "remote_launched")
        ) || details.get("isAsync").and_then(Value::as_bool) == Some(true);
        if launched && (self.known.contains_key(id) || self.descriptions.contains_key(id)) {
            let mut found = Vec::new();
            if let Some(child) = self.child(id, &mut found) {
                child.in_background = true;
            }
            if let Some(task) = text(details, "agentId") {
                self.tasks.insert(task.to_owned(), id.to_owned());
            }
            return self.report(id, found, findings);
        }
        if self.known.get(id).is_none_or(|child| child.in_background) {
            return;
        }
        let blocks = object.pointer("/message/content").and_then(Value::as_array);
        let result = blocks
            .into_iter()
            .flatten()
            .find(|block| text(block, "tool_use_id") == Some(id));
        let failed = result.and_then(|block| block.get("is_error")?.as_bool()) == Some(true);
        let result_text = content(result.and_then(|block| block.get("content")));
        let mut found = Vec::new();
        if let Some(child) = self.known.get_mut(id) {
            let total = count(details, "totalTokens");
            child.conversation.count_total(total, &mut found);
        }
        self.report(id, found, findings);
        let outcome = match failed {
            true => Outcome::Failed,
            false => Outcome::Done,
        };
        self.end(id, outcome, &result_text, findings);
    }

    fn end(&mut self, id: &str, outcome: Outcome, summary: &str, findings: &mut Vec<Finding>) {
        let Some(child) = self.known.get_mut(id) else {
            return;
        };
        if outcome == Outcome::StillRunning || std::mem::replace(&mut child.over, true) {
            return;
        }
        let mut found = Vec::new();
        let conversation = &mut child.conversation;
        if !conversation.has_output && outcome == Outcome::Done && !summary.is_empty() {
            push(&mut found, Event::answer(summary));
        }
        match outcome {
            Outcome::Stopped => {
                conversation.end_turn("aborted", &mut found);
                push(&mut found, Event::aborted());
            }
            Outcome::Failed => {
                conversation.end_turn("error", &mut found);
                push(&mut found, Event::error(summary));
                push(&mut found, Event::new(Kind::AgentEnd));
            }
            Outcome::Done | Outcome::StillRunning => {
                conversation.end_turn("end", &mut found);
                push(&mut found, Event::new(Kind::AgentEnd));
            }
        }
        conversation.forget();
        let still_running = self.in_background();
        self.last_was_stopped = outcome == Outcome::Stopped && still_running == 0;
        self.report(id, found, findings);
    }

    /// How many are running in the background.
    pub(super) fn in_background(&self) -> usize {
        let running = |child: &&Child| child.in_background && !child.over;
        self.known.values().filter(running).count()
    }

    /// Whether the last background agent was stopped, so that it will not report.
    pub(super) fn last_was_stopped(&mut self) -> bool {
        std::mem::take(&mut self.last_was_stopped)
    }

    /// Reports an event for the child whose tool it is about, or else for the agent.
    pub(super) fn route(&mut self, event: Event, findings: &mut Vec<Finding>) {
        let tool = event.tool_id.clone().unwrap_or_default();
        let owner = self
            .known
            .iter()
            .find(|(_, child)| child.conversation.open.contains(&tool))
            .map(|(id, _)| id.clone());
        match owner {
            Some(id) => self.report(&id, vec![Finding::Event(event)], findings),
            None => push(findings, event),
        }
    }

    /// Returns the child of a call; the first line about it starts it.
    fn child(&mut self, id: &str, found: &mut Vec<Finding>) -> Option<&mut Child> {
        let is_new = !self.known.contains_key(id);
        if is_new && self.known.len() >= MAX_CHILDREN {
            return None;
        }
        let described = self.descriptions.get(id).cloned();
        let child = self.known.entry(id.to_owned()).or_insert_with(|| Child {
            label: described.unwrap_or_else(|| id.to_owned()),
            ..Child::default()
        });
        if is_new {
            push(found, Event::new(Kind::AgentStart));
        }
        Some(child)
    }

    fn report(&self, id: &str, found: Vec<Finding>, findings: &mut Vec<Finding>) {
        let label = self.known.get(id).map_or(id, |child| child.label.as_str());
        findings.extend(found.into_iter().map(|finding| {
            Finding::Child(Box::new(ChildFinding {
                key: id.to_owned(),
                label: label.to_owned(),
                finding,
            }))
        }));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed,
    Stopped,
    StillRunning,
}

impl Outcome {
    fn of_status(status: &str) -> Self {
        match status {
            "completed" => Self::Done,
            "failed" | "error" => Self::Failed,
            "stopped" | "killed" | "cancelled" => Self::Stopped,
            _ => Self::StillRunning,
        }
    }
}
