//! What a client has set, for the next worker.

use zot_rpc::EventFilter;
use zot_wire::rpc::{Command, RequestId};
use zot_wire::write_line;

use super::progress::Answer;

/// Begins the ids of repeated settings, whose responses are not for the client.
const REPEATED: &str = "zino-attach-repeats-";

/// The settings of a client that a worker accepted. The latest of each kind counts.
#[derive(Default)]
pub(super) struct Settings {
    kept: Vec<Command>,
    filter: EventFilter,
    /// The ids of repeated settings whose responses are still to come, and what they set.
    repeated: Vec<(RequestId, &'static str)>,
    repetitions: u64,
}

impl Settings {
    pub(super) fn keep(&mut self, setting: Command) {
        if let Command::Subscribe { events, details } = &setting {
            // The worker knows the same names.
            let _ = self.filter.subscribe(events.as_deref());
            self.filter.set_details(*details);
        }
        self.kept.retain(|kept| kept.name() != setting.name());
        self.kept.push(setting);
    }

    /// Returns which events the client gets.
    pub(super) fn filter(&self) -> &EventFilter {
        &self.filter
    }

    /// Returns whether the client gets events of this type.
    pub(super) fn includes(&self, event: &str) -> bool {
        self.filter.names().iter().any(|name| name == event)
    }

    /// Writes all settings for a worker that does not know them.
    pub(super) fn repeat(&mut self, to_worker: &mut Vec<u8>) {
        for command in &self.kept {
            self.repetitions += 1;
            let id = format!("{REPEATED}{}", self.repetitions);
            // What was read can be written.
            let (Some(sent), Ok(mut line)) = (RequestId::text(&id), serde_json::to_value(command))
            else {
                continue;
            };
            line["id"] = id.into();
            let _ = write_line(to_worker, &line);
            self.repeated.push((sent, command.name()));
        }
    }

    /// Returns whether a response is to a repeated setting: `Some(None)` if the worker accepted it, and
    /// otherwise what to tell the user.
    pub(super) fn take_repeated(&mut self, answer: &Answer) -> Option<Option<String>> {
        let id = answer.id.as_ref()?;
        let position = self.repeated.iter().position(|(sent, _)| sent == id)?;
        let (_, name) = self.repeated.swap_remove(position);
        if answer.success {
            return Some(None);
        }
        let problem = answer.error.as_deref().unwrap_or("no reason given");
        Some(Some(format!(
            "the worker that runs this session now refused {name}: {problem}"
        )))
    }

    pub(super) fn forget_repeated(&mut self) {
        self.repeated.clear();
    }
}
