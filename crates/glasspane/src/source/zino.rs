//! Responses of zino's `daemon`, `agr` and `rtr`, which `docs/zino.md` describes.
//!
//! Reads frames, their bodies as lines, or the plain text of `zino cli --stream`.

use serde_json::Value;

use super::fields::{count, push, text};
use super::{Dialect, Finding};
use crate::{Event, Kind};

const TOOL_RESPONSES: [(&str, &str); 2] = [
    ("<tool_response>", "</tool_response>"),
    ("<task_response>", "</task_response>"),
];

/// One request, one response. The name of the tool is not reported, only its output.
#[derive(Debug, Default)]
pub(super) struct Zino {
    in_progress: bool,
    tools: u64,
}

impl Dialect for Zino {
    fn read(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        match text(object, "type") {
            Some("chunk") => self.chunk(text(object, "delta").unwrap_or(""), findings),
            Some("done") => {
                self.begin(findings);
                self.end(text(object, "full_text").unwrap_or(""), findings);
            }
            Some("response" | "result") if object.get("content").is_some() => {
                self.begin(findings);
                self.report_iterations(object, findings);
                self.end(text(object, "content").unwrap_or(""), findings);
            }
            Some("error") => {
                let message = text(object, "message").unwrap_or("failed");
                if std::mem::take(&mut self.in_progress) {
                    push(findings, Event::turn_end("error"));
                }
                push(findings, Event::error(message));
                push(findings, Event::new(Kind::AgentEnd));
            }
            Some("run" | "infer") => self.request(object, findings),
            None if object.get("message").is_some() => self.request(object, findings),
            other => push(findings, Event::unknown(other.unwrap_or(""))),
        }
    }

    fn read_text(&mut self, line: &str, findings: &mut Vec<Finding>) -> bool {
        self.begin(findings);
        push(findings, Event::piece("assistant", format!("{line}\n")));
        true
    }

    fn finish(&mut self, findings: &mut Vec<Finding>) {
        // Plain text has no other end.
        if std::mem::take(&mut self.in_progress) {
            push(findings, Event::turn_end("end"));
            push(findings, Event::new(Kind::AgentEnd));
        }
    }
}

impl Zino {
    fn request(&mut self, object: &Value, findings: &mut Vec<Finding>) {
        let last = object
            .get("messages")
            .and_then(Value::as_array)
            .and_then(|messages| messages.last());
        let message = text(object, "message").or_else(|| text(last?, "content"));
        push(findings, Event::prompt(message.unwrap_or("")));
    }

    fn begin(&mut self, findings: &mut Vec<Finding>) {
        if !std::mem::replace(&mut self.in_progress, true) {
            push(findings, Event::new(Kind::AgentStart));
            push(findings, Event::turn_start(1));
        }
    }

    fn chunk(&mut self, delta: &str, findings: &mut Vec<Finding>) {
        self.begin(findings);
        match tool_response(delta) {
            Some(response) => {
                self.tools += 1;
                let id = format!("tool-{}", self.tools);
                push(findings, Event::tool_start(id.clone(), "tool"));
                push(findings, Event::tool_end(id, response, false));
            }
            None if delta.is_empty() => {}
            None => push(findings, Event::piece("assistant", delta)),
        }
    }

    fn report_iterations(&self, object: &Value, findings: &mut Vec<Finding>) {
        let iterations = count(object, "iterations");
        if iterations > 1 {
            push(
                findings,
                Event::notice(format!("took {iterations} iterations")),
            );
        }
    }

    fn end(&mut self, answer: &str, findings: &mut Vec<Finding>) {
        self.in_progress = false;
        push(findings, Event::answer(answer));
        push(findings, Event::turn_end("end"));
        push(findings, Event::new(Kind::AgentEnd));
    }
}

/// Returns the result of a tool if `delta` is such a block: `agr` sends each as one chunk.
fn tool_response(delta: &str) -> Option<&str> {
    let delta = delta.trim();
    TOOL_RESPONSES.iter().find_map(|(begin, end)| {
        let response = delta.strip_prefix(begin)?.strip_suffix(end)?;
        Some(response.trim_matches('\n'))
    })
}
