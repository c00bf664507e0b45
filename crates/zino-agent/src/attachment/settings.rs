//! What a client has set, for the next worker.

use zot_rpc::EventFilter;
use zot_wire::rpc::{Command, RequestId};
use zot_wire::write_line;

use super::progress::Answer;

/// Begins the ids of repeated settings, whose responses are not for the client.
const REPEATED: &str = "zino-attach-repeats-";

/// The code of a choice of tools that the worker lacks.
const UNKNOWN_TOOL: &str = "unknown_tool";

/// The settings of a client that a worker accepted. The latest of each kind counts.
#[derive(Default)]
pub(super) struct Settings {
    kept: Vec<Command>,
    filter: EventFilter,
    /// What was sent to the worker and has no response yet.
    repeated: Vec<Repeated>,
    /// The settings that the worker does not accept.
    refused: Vec<RefusedSetting>,
    repetitions: u64,
}

struct Repeated {
    id: RequestId,
    name: &'static str,
    attempt: Attempt,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Attempt {
    First,
    /// Once the worker's extensions have registered their tools.
    WithExtensions,
}

struct RefusedSetting {
    name: &'static str,
    problem: String,
}

/// What became of a repeated setting.
pub(super) enum Repetition {
    /// It was accepted, or is tried again.
    Swallowed,
    Refused,
}

impl Settings {
    pub(super) fn keep(&mut self, setting: Command) {
        if let Command::Subscribe { events, details } = &setting {
            // The worker knows the same names.
            let _ = self.filter.subscribe(events.as_deref());
            self.filter.set_details(*details);
        }
        self.refused
            .retain(|refused| refused.name != setting.name());
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
        for setting in self.kept.clone() {
            self.send(&setting, Attempt::First, to_worker);
        }
    }

    fn send(&mut self, command: &Command, attempt: Attempt, to_worker: &mut Vec<u8>) {
        self.repetitions += 1;
        let id = format!("{REPEATED}{}", self.repetitions);
        // What was read can be written.
        let (Some(sent), Ok(mut line)) = (RequestId::text(&id), serde_json::to_value(command))
        else {
            return;
        };
        line["id"] = id.into();
        let _ = write_line(to_worker, &line);
        self.repeated.push(Repeated {
            id: sent,
            name: command.name(),
            attempt,
        });
    }

    /// Takes a response to a repeated setting; `None` if it is the client's.
    pub(super) fn take_repeated(
        &mut self,
        answer: &Answer,
        to_worker: &mut Vec<u8>,
    ) -> Option<Repetition> {
        let id = answer.id.as_ref()?;
        let position = self.repeated.iter().position(|sent| sent.id == *id)?;
        let Repeated { name, attempt, .. } = self.repeated.swap_remove(position);
        if name == Command::GetCommands.name() {
            let tools = self.kept.iter().find(|kept| is_tool_choice(kept)).cloned();
            if let Some(tools) = tools {
                self.send(&tools, Attempt::WithExtensions, to_worker);
            }
            return Some(Repetition::Swallowed);
        }
        if answer.success {
            return Some(Repetition::Swallowed);
        }
        if answer.code.as_deref() == Some(UNKNOWN_TOOL) && attempt == Attempt::First {
            // Its response comes once all extensions have started.
            self.send(&Command::GetCommands, Attempt::First, to_worker);
            return Some(Repetition::Swallowed);
        }
        let problem = answer.error.as_deref().unwrap_or("no reason given");
        self.refused.push(RefusedSetting {
            name,
            problem: problem.to_owned(),
        });
        Some(Repetition::Refused)
    }

    /// Returns whether the worker is still to accept a setting.
    pub(super) fn is_repeating(&self) -> bool {
        !self.repeated.is_empty()
    }

    /// Returns a setting that the worker does not accept, and why.
    pub(super) fn refused(&self) -> Option<(&'static str, &str)> {
        let refused = self.refused.last()?;
        Some((refused.name, &refused.problem))
    }

    /// Returns whether `setting` would take the place of one that the worker does not accept.
    pub(super) fn is_replacement(&self, setting: &Command) -> bool {
        let name = setting.name();
        self.refused.iter().any(|refused| refused.name == name)
    }

    /// Forgets what the worker was sent, because it is gone.
    pub(super) fn forget_worker(&mut self) {
        self.repeated.clear();
        self.refused.clear();
    }
}

fn is_tool_choice(setting: &Command) -> bool {
    matches!(setting, Command::SetTools { .. })
}
