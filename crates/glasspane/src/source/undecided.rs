//! Reads lines until the kind of agent is known.

use serde_json::Value;

use super::fields::{push, text};
use super::{Dialect, Finding};
use crate::{Event, Kind, normalize};

/// Understands only lines that mean the same for every kind: failed commands and plain errors.
#[derive(Debug, Default)]
pub(super) struct Undecided;

impl Dialect for Undecided {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "type") {
            Some("response") if object.get("success").is_some() => {
                let succeeded = object.get("success").and_then(Value::as_bool) == Some(true);
                if succeeded && text(object, "command") == Some("prompt") {
                    push(findings, Event::new(Kind::AgentStart));
                }
                findings.extend(normalize(object).map(Finding::Event));
            }
            Some("error") if text(object, "message").is_some() => {
                push(
                    findings,
                    Event::error(text(object, "message").unwrap_or("")),
                );
            }
            // Responses to a client, which are not about the work.
            Some("control_response" | "keep_alive") => {}
            kind => push(findings, Event::unknown(kind.unwrap_or("no type"))),
        }
    }
}
