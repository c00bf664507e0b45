//! What a client of `zino attach` sees, whichever worker serves it: lines in, lines out, no I/O.
//!
//! A client must not notice that its session moved. Commands that no worker has read are sent to the
//! next one, settings are repeated there, and a prompt that was lost ends with the events that end a
//! prompt.

mod command;
mod progress;
mod recorded;
mod settings;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::Serialize;
use zot_wire::rpc::{Command, Event, RequestId, Response};
use zot_wire::{MAX_WIRE_LINE_BYTES, write_line};

use command::{IfLost, Pending};
use progress::{Answer, Progress, type_of};
use settings::{Repetition, Settings};

/// The code of responses and errors when the worker is gone.
const WORKER_LOST: &str = "worker_lost";

/// The code of responses to commands that a worker without the client's settings must not carry out.
const SETTING_REFUSED: &str = "setting_refused";

/// How many workers may be lost before a command fails: it may be what kills them.
///
/// Limit: a command without a response fails when as many workers were lost since it was sent.
const MAX_LOSSES: u32 = 2;

const OUTCOME_UNKNOWN: &str = "whether it carried the command out is unknown";

/// How many bytes of commands are kept while no worker has answered them. More than the prompts that a
/// worker lets wait, so that a worker with a full queue says so itself.
///
/// Limit: `zino attach` reads no further commands until some are answered.
const MAX_UNANSWERED_BYTES: usize = 128 * 1024 * 1024;

/// How the connection to a worker ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkEnd {
    /// The worker answered every command that it read.
    Finished,
    /// What became of the last commands is unknown.
    Lost(String),
}

/// One client and its session, on whichever worker.
#[derive(Default)]
pub struct Attachment {
    is_open: bool,
    /// Commands without a response, in the order of the client.
    pending: VecDeque<Pending>,
    pending_bytes: usize,
    settings: Settings,
    progress: Progress,
    /// Whether a worker has accepted what the client set before its first command.
    is_begun: bool,
    /// The id of our own question what was recorded, while the commands wait for the answer.
    question: Option<RequestId>,
    to_client: Vec<u8>,
    to_worker: Vec<u8>,
}

impl Attachment {
    /// Creates one whose client has already set something.
    pub fn with_settings(settings: Vec<Command>) -> Self {
        let mut attachment = Self::default();
        for setting in settings {
            attachment.settings.keep(setting);
        }
        attachment
    }

    /// Takes a line of the client.
    pub fn command(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let pending = Pending::new(line);
        self.pending_bytes += pending.line.len();
        self.pending.push_back(pending);
        self.send_pending();
    }

    /// Answers a client that did not begin with the token, in the words of `zot rpc`.
    pub fn refuse_client(&mut self, response: &Response<()>) {
        self.tell(response);
    }

    /// Refuses a line of the client that was too long to be read.
    pub fn overlong_command(&mut self) {
        let problem = format!("line too long: the limit is {MAX_WIRE_LINE_BYTES} bytes");
        self.tell(&Response::failure(None, "", "line_too_long", problem));
    }

    /// Returns whether the client may send more.
    pub fn takes_commands(&self) -> bool {
        self.pending_bytes < MAX_UNANSWERED_BYTES
    }

    /// Returns whether a command waits for a worker.
    pub fn wants_worker(&self) -> bool {
        !self.is_open && !self.pending.is_empty()
    }

    /// Returns whether everything was answered and nothing runs.
    pub fn is_idle(&self) -> bool {
        self.pending.is_empty() && !self.progress.is_running()
    }

    /// Returns whether commands wait although the session is open.
    pub fn holds_commands(&self) -> bool {
        self.settings.is_repeating() || self.pending.back().is_some_and(|pending| !pending.is_sent)
    }

    /// Returns why a worker refused what the client had set before its first command.
    pub fn refused_argument(&self) -> Option<String> {
        let (name, problem) = self.settings.refused().filter(|_| !self.is_begun)?;
        Some(format!("{name}: {problem}"))
    }

    /// A worker has opened the session: it gets the settings, and once it has accepted them the commands
    /// that wait.
    pub fn opened(&mut self) {
        self.is_open = true;
        self.settings.repeat(&mut self.to_worker);
        if self.pending.iter().any(|pending| pending.is_doubtful) {
            self.question = recorded::ask(&mut self.to_worker);
        }
        self.send_pending();
    }

    /// No worker opened the session: the commands that wait are refused.
    pub fn refused(&mut self, code: &str, problem: &str) {
        for pending in std::mem::take(&mut self.pending) {
            self.fail(&pending, code, problem);
        }
        self.pending_bytes = 0;
    }

    /// Takes a line of the worker.
    pub fn worker_line(&mut self, line: &[u8]) {
        let kind = type_of(line);
        if kind == b"response" {
            let Some(answer) = Answer::parse(line) else {
                return;
            };
            if self.question.is_some() && self.question == answer.id {
                self.question = None;
                self.settle(recorded::user_texts(line).as_deref());
                self.send_pending();
                return;
            }
            let repetition = self.settings.take_repeated(&answer, &mut self.to_worker);
            if let Some(repetition) = repetition {
                self.repeated(&repetition);
                return;
            }
            self.pass_on(line);
            self.answered(&answer);
        } else {
            self.progress.observe(kind, line);
            self.pass_on(line);
        }
    }

    fn pass_on(&mut self, line: &[u8]) {
        self.to_client.extend_from_slice(line);
        self.to_client.push(b'\n');
    }

    fn repeated(&mut self, repetition: &Repetition) {
        if let Repetition::Refused = repetition
            && self.is_begun
            && let Some(problem) = self.setting_problem()
        {
            self.notify(problem);
        }
        self.send_pending();
    }

    fn setting_problem(&self) -> Option<String> {
        let (name, problem) = self.settings.refused()?;
        Some(format!(
            "the worker that runs this session now refused {name}: {problem}"
        ))
    }

    /// The connection to the worker is over.
    pub fn ended(&mut self, end: &LinkEnd) {
        self.is_open = false;
        self.to_worker.clear();
        self.question = None;
        self.settings.forget_worker();
        match end {
            LinkEnd::Finished => {
                for event in self.progress.finished() {
                    self.report(event);
                }
                for pending in &mut self.pending {
                    pending.is_sent = false;
                }
            }
            LinkEnd::Lost(reason) => self.lose(reason),
        }
    }

    /// Takes what the client is to read.
    pub fn take_for_client(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.to_client)
    }

    /// Takes what the worker is to read.
    pub fn take_for_worker(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.to_worker)
    }

    /// Sends the commands that wait, unless the worker is still to be prepared for them.
    fn send_pending(&mut self) {
        if !self.is_open || self.question.is_some() || self.settings.is_repeating() {
            return;
        }
        if let Some(problem) = self.setting_problem() {
            if !self.is_begun {
                return;
            }
            self.refuse_work(&problem);
        }
        self.is_begun = true;
        let unsent = self.pending.partition_point(|pending| pending.is_sent);
        for pending in self.pending.range_mut(unsent..) {
            if pending.begins_work && self.settings.refused().is_some() {
                // Until it is known whether what the client has set instead is accepted.
                break;
            }
            pending.is_sent = true;
            self.to_worker.extend_from_slice(&pending.line);
            self.to_worker.push(b'\n');
        }
    }

    /// Refuses what must not run without, say, a restriction of its tools, unless the client has sent that
    /// again.
    fn refuse_work(&mut self, problem: &str) {
        let name = self.settings.refused().map_or("", |(name, _)| name);
        let problem = format!("{problem}; send {name} again");
        for pending in std::mem::take(&mut self.pending) {
            if pending.is_sent || !pending.begins_work || self.is_replacing_setting() {
                self.pending.push_back(pending);
            } else {
                self.pending_bytes -= pending.line.len();
                self.fail(&pending, SETTING_REFUSED, &problem);
            }
        }
    }

    /// Returns whether a setting is on its way in place of one that the worker does not accept.
    fn is_replacing_setting(&self) -> bool {
        let mut settings = self
            .pending
            .iter()
            .filter_map(|pending| pending.setting.as_ref());
        settings.any(|setting| self.settings.is_replacement(setting))
    }

    fn answered(&mut self, answer: &Answer) {
        let position = self
            .pending
            .iter()
            .position(|pending| pending.is_sent && pending.is_answered_by(answer));
        let Some(pending) = position.and_then(|position| self.pending.remove(position)) else {
            return;
        };
        self.pending_bytes -= pending.line.len();
        if answer.success {
            self.progress.began(answer, pending.steering);
            if let Some(setting) = pending.setting {
                self.settings.keep(setting);
            }
        }
        if self.pending.back().is_some_and(|pending| !pending.is_sent) {
            self.send_pending();
        }
    }

    fn lose(&mut self, reason: &str) {
        for event in self.progress.lost(reason, WORKER_LOST, &self.settings) {
            self.report(event);
        }
        let problem = format!("the worker was lost ({reason}); {OUTCOME_UNKNOWN}");
        for mut pending in std::mem::take(&mut self.pending) {
            pending.losses += 1;
            let may_wait = pending.losses < MAX_LOSSES;
            match pending.if_lost {
                _ if !pending.is_sent && may_wait => self.pending.push_back(pending),
                IfLost::Repeat | IfLost::RepeatUnlessRecorded if may_wait => {
                    pending.is_doubtful = pending.if_lost == IfLost::RepeatUnlessRecorded;
                    pending.is_sent = false;
                    self.pending.push_back(pending);
                }
                IfLost::Acknowledge => {
                    let response = Response::acknowledged(pending.id.clone(), &pending.command);
                    self.tell(&response);
                }
                _ => self.fail(&pending, WORKER_LOST, &problem),
            }
        }
        self.pending_bytes = self.pending.iter().map(|pending| pending.line.len()).sum();
    }

    /// Refuses the doubtful prompts that may have been recorded as one of `texts`, or all if these are
    /// not known; the others were not begun.
    fn settle(&mut self, texts: Option<&[String]>) {
        // One for each command whose outcome is unknown, and as many again that zot adds by itself.
        let count = 2 * self.pending.len() + 1;
        let may_be_recorded = |pending: &Pending| match texts {
            Some(texts) => {
                let mut recent = texts.iter().rev().take(count);
                recent.any(|text| pending.may_be(text))
            }
            None => true,
        };
        for mut pending in std::mem::take(&mut self.pending) {
            let is_doubtful = std::mem::take(&mut pending.is_doubtful);
            if is_doubtful && may_be_recorded(&pending) {
                self.pending_bytes -= pending.line.len();
                let problem = format!("the worker was lost; {OUTCOME_UNKNOWN}");
                self.fail(&pending, WORKER_LOST, &problem);
            } else {
                self.pending.push_back(pending);
            }
        }
    }

    fn fail(&mut self, pending: &Pending, code: &str, problem: &str) {
        let response = Response::failure(pending.id.clone(), &pending.command, code, problem);
        self.tell(&response);
    }

    fn notify(&mut self, message: String) {
        self.report(Event::ExtNotify {
            extension: "zino".to_owned(),
            level: "warn".to_owned(),
            message,
        });
    }

    /// Writes an event if the client subscribed to it.
    fn report(&mut self, event: Event) {
        if let Some(event) = self.settings.filter().admit(event) {
            self.tell(&event);
        }
    }

    fn tell(&mut self, frame: &impl Serialize) {
        // Frames that were made here can be written.
        let _ = write_line(&mut self.to_client, frame);
    }
}
