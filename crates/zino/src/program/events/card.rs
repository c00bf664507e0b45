//! How a node or a service is shown: busy while it handles requests, idle otherwise.

use glasspane::{AgentHandle, Attached, Detached, Event, Hub, Kind};
use serde_json::json;

use crate::metrics::Load;

/// The tool that a busy one runs.
const LOAD: &str = "load";

/// A node or a service as an agent of Glasspane.
pub(super) struct Card {
    handle: AgentHandle,
    load: Load,
    text: String,
    is_busy: bool,
}

impl Card {
    pub(super) fn new(hub: &Hub, label: String, parent: Option<&str>) -> Self {
        let handle = hub.attach(Attached {
            label,
            source: "zino".to_owned(),
            parent: parent.map(str::to_owned),
            ..Attached::default()
        });
        handle.event(Event::new(Kind::AgentStart));
        Self {
            handle,
            load: Load {
                in_flight: 0,
                capacity: 0,
            },
            text: String::new(),
            is_busy: false,
        }
    }

    pub(super) fn id(&self) -> &str {
        self.handle.id()
    }

    /// Shows what has changed.
    pub(super) fn show(&mut self, load: Load, text: String) {
        let is_busy = load.in_flight > 0;
        let is_new = self.text.is_empty();
        if self.text != text {
            self.handle.event(Event::answer(text.as_str()));
            self.text = text;
        }
        match (self.is_busy, is_busy) {
            (false, true) => {
                self.handle.event(Event::new(Kind::TurnStart));
                self.handle.event(Event::tool_start(LOAD, "requests"));
            }
            (true, false) => {
                self.handle.event(Event::tool_end(LOAD, "", false));
                self.handle.event(Event::turn_end("end"));
            }
            (false, false) if is_new => {
                self.handle.event(Event::new(Kind::TurnStart));
                self.handle.event(Event::turn_end("end"));
            }
            _ => {}
        }
        if is_busy && load != self.load {
            let shown = json!({"in_flight": load_words(load)});
            self.handle
                .event(Event::tool_arguments(LOAD, shown.to_string()));
        }
        self.load = load;
        self.is_busy = is_busy;
    }

    pub(super) fn notice(&self, message: &str) {
        self.handle.event(Event::notice(message));
    }

    /// Shows that it has ended as it should.
    pub(super) fn end(self) {
        if self.is_busy {
            self.handle.event(Event::tool_end(LOAD, "", false));
            self.handle.event(Event::turn_end("end"));
        }
        self.handle.event(Event::new(Kind::AgentEnd));
        self.handle.detach(Detached {
            reason: "ended".to_owned(),
            ..Detached::default()
        });
    }

    /// Shows that it went with the node it belongs to.
    pub(super) fn go_with_node(self) {
        self.handle.detach(Detached {
            reason: "its node is gone".to_owned(),
            interrupted: true,
            ..Detached::default()
        });
    }

    /// Shows that it is gone without a word.
    pub(super) fn lose(self, reason: &str) {
        self.handle.event(Event::error(reason));
        self.handle.detach(Detached {
            reason: reason.to_owned(),
            failed: true,
            ..Detached::default()
        });
    }
}

/// A node has no capacity of its own.
fn load_words(load: Load) -> String {
    match load.capacity {
        0 => load.in_flight.to_string(),
        capacity => format!("{} of {capacity}", load.in_flight),
    }
}
