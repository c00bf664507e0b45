//! What runs, as far as the client can see.

use std::collections::VecDeque;

use serde::Deserialize;
use zot_wire::rpc::{ContentBlock, CumulativeUsage, Event, RequestId};

use super::settings::Settings;

/// The parts of a response that matter here.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    pub(super) id: Option<RequestId>,
    pub(super) command: String,
    pub(super) success: bool,
    #[serde(default)]
    pub(super) error: Option<String>,
    #[serde(default)]
    pub(super) code: Option<String>,
    #[serde(skip)]
    data: AnswerData,
}

#[derive(Deserialize, Default)]
struct AnswerData {
    #[serde(default)]
    started: bool,
    #[serde(default)]
    steered: bool,
    #[serde(default)]
    action: String,
    #[serde(default)]
    extension: String,
    #[serde(default)]
    open_panel: Option<OpenedPanel>,
}

#[derive(Deserialize)]
struct OpenedPanel {
    id: String,
}

#[derive(Deserialize)]
struct WithData {
    #[serde(default)]
    data: AnswerData,
}

#[derive(Deserialize)]
struct UsageEvent {
    cumulative: CumulativeUsage,
}

#[derive(Deserialize)]
struct PanelEvent {
    extension: String,
    panel_id: String,
}

impl Answer {
    pub(super) fn parse(line: &[u8]) -> Option<Self> {
        let mut answer: Self = serde_json::from_slice(line).ok()?;
        // Others may hold a whole conversation.
        if matches!(
            answer.command.as_str(),
            "prompt" | "compact" | "steer" | "invoke_command"
        ) {
            let data = serde_json::from_slice(line);
            answer.data = data.map(|WithData { data }| data).unwrap_or_default();
        }
        Some(answer)
    }
}

/// Returns the type of a frame, which is its first field.
pub(super) fn type_of(line: &[u8]) -> &[u8] {
    let rest = line.strip_prefix(b"{\"type\":\"").unwrap_or_default();
    let end = rest.iter().position(|byte| *byte == b'"');
    end.and_then(|end| rest.get(..end)).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Prompt,
    Compaction,
}

/// The running prompt or compaction, and the open panels.
#[derive(Default)]
pub(super) struct Progress {
    running: Option<Work>,
    has_prompt_message: bool,
    is_in_turn: bool,
    is_usage_due: bool,
    cumulative: CumulativeUsage,
    /// Accepted by `steer` and not delivered yet.
    steering: VecDeque<Vec<ContentBlock>>,
    panels: Vec<PanelEvent>,
}

impl Progress {
    pub(super) fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// A command was carried out, which may begin work.
    pub(super) fn began(&mut self, answer: &Answer, steering: Option<Vec<ContentBlock>>) {
        let data = &answer.data;
        if data.steered {
            self.steering.extend(steering);
            return;
        }
        match answer.command.as_str() {
            "compact" => self.begin(Work::Compaction),
            "prompt" if data.started => self.begin(Work::Prompt),
            "invoke_command" if data.action == "prompt" => self.begin(Work::Prompt),
            "invoke_command" => {
                if let Some(panel) = &data.open_panel {
                    self.panel_opened(PanelEvent {
                        extension: data.extension.clone(),
                        panel_id: panel.id.clone(),
                    });
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, work: Work) {
        self.end();
        self.running = Some(work);
    }

    fn end(&mut self) {
        self.running = None;
        self.has_prompt_message = false;
        self.is_in_turn = false;
        self.is_usage_due = false;
        self.steering.clear();
    }

    /// An event was passed on to the client.
    pub(super) fn observe(&mut self, kind: &[u8], line: &[u8]) {
        match kind {
            b"user_message" if !self.has_prompt_message => self.has_prompt_message = true,
            b"user_message" | b"steer_dropped" => {
                self.steering.pop_front();
            }
            b"turn_start" => self.is_in_turn = true,
            b"assistant_start" => self.is_usage_due = true,
            b"usage" => {
                self.is_usage_due = false;
                if let Ok(UsageEvent { cumulative }) = serde_json::from_slice(line) {
                    self.cumulative = cumulative;
                }
            }
            b"turn_end" => self.is_in_turn = false,
            b"done" => self.end(),
            // A prompt goes on after a compaction in its midst.
            b"compact_done" if self.running == Some(Work::Compaction) => self.end(),
            b"ext_panel" => {
                if let Ok(panel) = serde_json::from_slice(line) {
                    self.panel_opened(panel);
                }
            }
            b"ext_panel_close" => {
                if let Ok(panel) = serde_json::from_slice(line) {
                    self.panel_closed(&panel);
                }
            }
            _ => {}
        }
    }

    fn panel_opened(&mut self, panel: PanelEvent) {
        self.panel_closed(&panel);
        self.panels.push(panel);
    }

    fn panel_closed(&mut self, panel: &PanelEvent) {
        self.panels
            .retain(|open| open.extension != panel.extension || open.panel_id != panel.panel_id);
    }

    /// Returns the events for a worker that ended with nothing running.
    pub(super) fn finished(&mut self) -> Vec<Event> {
        // The client may not have subscribed to what shows this.
        self.end();
        self.close_panels()
    }

    /// Returns the events after which no panel is open: its extension runs on another worker.
    fn close_panels(&mut self) -> Vec<Event> {
        let close = |panel: PanelEvent| Event::ExtPanelClose {
            extension: panel.extension,
            panel_id: panel.panel_id,
        };
        self.panels.drain(..).map(close).collect()
    }

    /// Returns the events that end what runs, in the order that clients rely on.
    pub(super) fn lost(&mut self, reason: &str, code: &str, settings: &Settings) -> Vec<Event> {
        let mut events = self.close_panels();
        if self.running.is_none() {
            return events;
        }
        let message = format!("the worker was lost ({reason}); what it recorded is kept");
        if self.is_in_turn {
            if self.is_usage_due {
                events.push(Event::Usage {
                    input: 0,
                    output: 0,
                    cache_read: 0,
                    cache_write: 0,
                    cost_usd: 0.0,
                    cumulative: self.cumulative,
                });
            }
            events.push(Event::TurnEnd {
                stop: "error".to_owned(),
                error: Some(message.clone()),
            });
        }
        events.push(Event::Error {
            message,
            code: Some(code.to_owned()),
            retry_after_ms: None,
            provider: None,
            alternatives: Vec::new(),
        });
        // Without these events it is unknown what was delivered.
        if settings.includes("user_message") {
            let dropped = self.steering.drain(..);
            events.extend(dropped.map(|content| Event::SteerDropped { content }));
        }
        events.push(Event::Done);
        self.end();
        events
    }
}
