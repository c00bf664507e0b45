//! Records as lines for people.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io::Write as _;

use crate::attach::Launch;
use crate::program::{clip, plain, width};
use crate::record::Detached;
use crate::{AgentState, Contact, Event, Kind, Record, Status, Tracker};

/// How much of a text one line shows.
const SHOWN_COLUMNS: usize = 160;

/// Prints a line for each record except deltas, whose sum is printed.
pub(super) struct Printer {
    agents: BTreeMap<String, PrintedAgent>,
    label_width: usize,
    started_ms: u64,
}

struct PrintedAgent {
    tracker: Tracker,
    /// Names of running tools, for the line that reports their end.
    tools: BTreeMap<String, String>,
}

impl Printer {
    pub(super) fn new(launches: &[Launch]) -> Self {
        let widest = launches
            .iter()
            .map(|launch| width(&launch.shown_label()))
            .max();
        Self {
            agents: BTreeMap::new(),
            label_width: widest.unwrap_or(0).clamp(4, 24),
            started_ms: 0,
        }
    }

    pub(super) fn print(&mut self, record: &Record, lines: &mut Vec<u8>) {
        if self.started_ms == 0 {
            self.started_ms = record.at_ms;
        }
        let shown = self
            .agents
            .entry(record.agent.clone())
            .or_insert_with(|| PrintedAgent {
                tracker: Tracker::new(record.agent.clone()),
                tools: BTreeMap::new(),
            });
        let violations = shown.tracker.state().violation_count;
        shown.tracker.apply(record);
        let mut texts = Vec::new();
        if let Some(event) = &record.event {
            texts.extend(shown.event(event));
        }
        if let Some(detached) = &record.detached {
            texts.push(shown.detached(detached));
        }
        let state = shown.tracker.state();
        if state.violation_count > violations
            && let Some(violation) = state.violations.last()
        {
            texts.push(format!("! protocol violation: {}", plain(violation)));
        }
        for line in texts {
            let seconds = record.at_ms.saturating_sub(self.started_ms) as f64 / 1000.0;
            let label = clip(&plain(&state.label), self.label_width);
            let blank = self.label_width - width(&label);
            let line = clip(&line, SHOWN_COLUMNS);
            let _ = writeln!(lines, "{seconds:>7.1}s  {label}{:blank$}  {line}", "");
        }
    }

    /// Prints a summary line for each agent.
    pub(super) fn finish(&mut self, lines: &mut Vec<u8>) {
        for shown in self.agents.values() {
            let _ = writeln!(lines, "{}", summary(shown.tracker.state()));
        }
    }
}

impl PrintedAgent {
    /// Describes how it left, and its status where the reason does not.
    fn detached(&self, detached: &Detached) -> String {
        let reason = plain(&detached.reason);
        match self.tracker.state().status {
            status @ (Status::Interrupted | Status::NotUnderstood) => {
                format!("{reason}: {}", status.words())
            }
            _ => reason,
        }
    }

    fn event(&mut self, event: &Event) -> Option<String> {
        let text = || plain(event.text.as_deref().unwrap_or("").trim());
        let message = || plain(event.message.as_deref().unwrap_or(""));
        let id = event.tool_id.clone().unwrap_or_default();
        Some(match event.kind {
            Kind::TurnStart => format!("turn {}", event.step.unwrap_or(0)),
            Kind::MessageUpdate if event.role.as_deref() == Some("user") => {
                format!("> {}", text())
            }
            Kind::MessageEnd if !text().is_empty() => format!("says: {}", text()),
            Kind::ToolExecutionStart => {
                let name = plain(event.tool_name.as_deref().unwrap_or("?"));
                self.tools.insert(id, name.clone());
                format!("{name} …")
            }
            Kind::ToolExecutionEnd => {
                let name = self.tools.remove(&id).unwrap_or_else(|| plain(&id));
                let how = match event.is_error {
                    Some(true) => "failed",
                    _ => "ended",
                };
                let hosts: Vec<String> = event.network.iter().map(Contact::words).collect();
                match hosts.is_empty() {
                    true => format!("{name} {how}: {}", text()),
                    false => format!("{name} {how} ({}): {}", plain(&hosts.join(", ")), text()),
                }
            }
            Kind::ApprovalRequest => {
                let what = event.tool_name.as_deref().or(event.message.as_deref());
                format!(
                    "waits for approval: {} {}",
                    plain(what.unwrap_or("")),
                    text()
                )
            }
            Kind::AgentEnd => {
                self.tools.clear();
                self.tracker.state().status.words().to_owned()
            }
            Kind::Error => format!("error: {}", message()),
            Kind::Retry => {
                let retry = event.retry.as_deref().cloned().unwrap_or_default();
                format!("{}: {}", retry.words(), message())
            }
            Kind::Notice => format!("note: {}", message()),
            Kind::Unknown => format!(
                "unknown: {} {}",
                plain(event.raw_type.as_deref().unwrap_or("")),
                message()
            ),
            _ => return None,
        })
    }
}

fn summary(state: &AgentState) -> String {
    let usage = &state.usage;
    let mut line = format!(
        "{}: {}, turns {}, tools {}, {} tokens in, {} out, {}, worked {:.1}s",
        plain(&state.label),
        state.status.words(),
        state.turns,
        state.tools,
        usage.prompt_tokens(),
        usage.output_tokens,
        usage.cost_words(),
        state.working_ms as f64 / 1000.0,
    );
    if state.status == Status::Failed
        && let Some(error) = &state.error
    {
        line.push_str(": ");
        line.push_str(&clip(&plain(error), SHOWN_COLUMNS));
    }
    if state.unknown > 0 {
        line.push_str(&format!(", {} lines not understood", state.unknown));
    }
    if state.violation_count > 0 {
        line.push_str(&format!(", {} protocol violations", state.violation_count));
    }
    line
}
