//! `codex app-server`: JSON-RPC without its version, as described in codex's `app-server/README.md`. The
//! stream may also contain the messages of the client.

mod thread;

use std::collections::HashMap;

use serde_json::Value;

use super::claude_code::MAX_CHILDREN;
use super::fields::{owned, push, text};
use super::{ChildFinding, Dialect, Finding, Identity};
use crate::{Event, MAX_OPEN_TOOLS};
use thread::Thread;
pub(super) use thread::attempts;

/// The first thread is the agent; threads it starts are its children.
#[derive(Debug, Default)]
pub(super) struct AppServer {
    main: Option<String>,
    thread: Thread,
    children: HashMap<String, Thread>,
    /// The labels of threads.
    labels: HashMap<String, String>,
    /// Pending requests of the client: the method by the id.
    client_requests: HashMap<String, String>,
    /// Pending requests of the server: the thread by the id.
    requests: HashMap<String, String>,
}

impl Dialect for AppServer {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let id = object.get("id").map(Value::to_string);
        let params = object.get("params").unwrap_or(&Value::Null);
        match (text(object, "method"), id) {
            (Some(method), Some(id)) => self.request(method, id, params, findings),
            (Some(method), None) => self.notification(method, params, findings),
            (None, Some(id)) => match object.get("error") {
                Some(error) => self.failed(&id, error, findings),
                None => self.response(&id, object.get("result").unwrap_or(&Value::Null), findings),
            },
            (None, None) => push(findings, Event::unknown("no method")),
        }
    }
}

impl AppServer {
    fn notification(&mut self, method: &str, params: &Value, findings: &mut Vec<Finding>) {
        if method == "thread/started" {
            let thread = params.get("thread").unwrap_or(&Value::Null);
            return self.thread_started(thread, findings);
        }
        if method == "serverRequest/resolved" {
            let id = params.get("requestId").map(Value::to_string);
            return self.resolved(&id.unwrap_or_default(), findings);
        }
        let (method, params) = (method.to_owned(), params.clone());
        self.in_thread(text(&params, "threadId"), findings, |thread, found| {
            thread.notification(&method, &params, found);
        });
    }

    /// Handles requests: those for approval come from the server, all others from the client.
    fn request(&mut self, method: &str, id: String, params: &Value, findings: &mut Vec<Finding>) {
        let is_approval = method.ends_with("requestApproval")
            || method.ends_with("/requestUserInput")
            || method == "mcpServer/elicitation/request"
            // The names in older versions.
            || matches!(method, "execCommandApproval" | "applyPatchApproval");
        if is_approval {
            let thread = text(params, "threadId").or_else(|| text(params, "conversationId"));
            if let Some(thread) = thread.filter(|_| self.requests.len() < MAX_OPEN_TOOLS) {
                self.requests.insert(id.clone(), thread.to_owned());
            }
            let params = params.clone();
            self.in_thread(thread, findings, |thread, found| {
                thread.approval_requested(id, &params, found);
            });
        } else if self.client_requests.len() < MAX_OPEN_TOOLS {
            self.client_requests.insert(id, method.to_owned());
        }
    }

    fn response(&mut self, id: &str, result: &Value, findings: &mut Vec<Finding>) {
        let decides = ["decision", "answers", "action", "permissions"]
            .iter()
            .any(|name| result.get(name).is_some());
        if decides && self.requests.contains_key(id) {
            return self.resolved(id, findings);
        }
        self.client_requests.remove(id);
        if let Some(thread) = result.get("thread").filter(|thread| thread.is_object()) {
            self.thread_started(thread, findings);
        }
    }

    fn failed(&mut self, id: &str, error: &Value, findings: &mut Vec<Finding>) {
        let method = self.client_requests.remove(id);
        let message = text(error, "message").unwrap_or("failed");
        let event = Event {
            raw_type: Some("response".to_owned()),
            ..Event::error(match method {
                Some(method) => format!("{method}: {message}"),
                None => message.to_owned(),
            })
        };
        push(findings, event);
    }

    fn resolved(&mut self, id: &str, findings: &mut Vec<Finding>) {
        if let Some(thread) = self.requests.remove(id) {
            self.in_thread(Some(&thread), findings, |thread, found| {
                thread.resolved(id, found);
            });
        }
    }

    fn thread_started(&mut self, thread: &Value, findings: &mut Vec<Finding>) {
        let Some(id) = text(thread, "id") else {
            return;
        };
        let main = self.main.get_or_insert_with(|| id.to_owned());
        if main == id {
            findings.push(Finding::Identity(Identity {
                model: owned(thread, "model"),
                cwd: owned(thread, "cwd"),
                ..Identity::default()
            }));
            return;
        }
        let label = ["name", "agentNickname", "agentRole", "preview"]
            .into_iter()
            .find_map(|name| text(thread, name).filter(|label| !label.is_empty()));
        if let Some(label) = label.filter(|_| self.labels.len() < MAX_CHILDREN) {
            self.labels.insert(id.to_owned(), label.to_owned());
        }
    }

    fn in_thread(
        &mut self,
        id: Option<&str>,
        findings: &mut Vec<Finding>,
        apply: impl FnOnce(&mut Thread, &mut Vec<Finding>),
    ) {
        let Some(id) = id.filter(|id| self.main.as_deref().is_some_and(|main| main != *id)) else {
            if let (None, Some(id)) = (&self.main, id) {
                self.main = Some(id.to_owned());
            }
            return apply(&mut self.thread, findings);
        };
        if !self.children.contains_key(id) && self.children.len() >= MAX_CHILDREN {
            return;
        }
        let mut found = Vec::new();
        let known = self.labels.get(id).cloned();
        let label = known.unwrap_or_else(|| format!("thread {id}"));
        apply(self.children.entry(id.to_owned()).or_default(), &mut found);
        findings.extend(found.into_iter().map(|finding| {
            Finding::Child(Box::new(ChildFinding {
                key: id.to_owned(),
                label: label.clone(),
                finding,
            }))
        }));
    }
}
