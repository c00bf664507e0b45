//! Questions and answers, and a memory of what else was said.

use std::time::Duration;

use tokio::time::Instant;
use zot_wire::extension::{ExtensionFrame, FrameError, HostFrame};

use crate::finding::Finding;
use crate::trial::{Farewell, Heard, Introduction, IntroductionError, Trial};

/// How many lines that are no frames are reported one by one.
const REPORTED_LINES: usize = 5;

/// How long it may take to see that an extension has ended.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);

/// What came of a question.
pub(super) enum Answer<T> {
    Given(T),
    Late(Duration),
    /// It came, but cannot be used.
    Invalid(String),
    /// The extension has ended.
    Over,
    Unsent(String),
}

pub(super) struct Conversation<'a> {
    trial: Trial,
    memory: Memory<'a>,
}

/// What was said beside the answers.
struct Memory<'a> {
    log: &'a mut (dyn FnMut(&str) + Send),
    unusable: Vec<Finding>,
    more_unusable: usize,
    over: bool,
}

impl Memory<'_> {
    fn note(&mut self, heard: Heard) {
        let finding = match heard {
            Heard::Log(line) => {
                (self.log)(&line);
                return;
            }
            Heard::StdoutClosed | Heard::Silence => {
                self.over = true;
                return;
            }
            Heard::Frame(ExtensionFrame::Notify { level, message }) => {
                if ["info", "success", "warn", "error"].contains(&level.as_str()) {
                    Finding::ok("notify", format!("{level}: {message}"))
                } else {
                    let hint = "use info, success, warn or error";
                    Finding::warn("notify", format!("level {level:?} is not known"), hint)
                }
            }
            // Late registrations and panel drawings may come at any time.
            Heard::Frame(_) => return,
            Heard::TooLong => Finding::fail(
                "standard output",
                "a line of more than 16 MiB",
                "send less: such a line is dropped",
            ),
            Heard::Unusable {
                error: FrameError::UnknownType(kind),
                ..
            } => Finding::warn(
                "standard output",
                format!("a frame of unknown type {kind:?}"),
                "it is ignored: check the spelling",
            ),
            Heard::Unusable {
                line,
                error: FrameError::Malformed(_),
            } => Finding::fail(
                "standard output",
                format!("not a frame: {line}"),
                "nothing but frames may go to standard output: print to standard error",
            ),
            Heard::Unusable { error, .. } => Finding::fail(
                "standard output",
                error.to_string(),
                "correct the field: the frame is not understood",
            ),
        };
        if self.unusable.len() < REPORTED_LINES {
            self.unusable.push(finding);
        } else {
            self.more_unusable += 1;
        }
    }
}

impl<'a> Conversation<'a> {
    pub(super) fn new(trial: Trial, log: &'a mut (dyn FnMut(&str) + Send)) -> Self {
        Self {
            trial,
            memory: Memory {
                log,
                unusable: Vec::new(),
                more_unusable: 0,
                over: false,
            },
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.memory.over
    }

    pub(super) fn next_id(&mut self) -> String {
        self.trial.next_id()
    }

    pub(super) async fn introduce(
        &mut self,
        hello_deadline: Instant,
        ready_deadline: Instant,
    ) -> Result<Introduction, IntroductionError> {
        let memory = &mut self.memory;
        self.trial
            .introduce(hello_deadline, ready_deadline, &mut |heard| {
                memory.note(heard);
            })
            .await
    }

    pub(super) async fn send(&mut self, frame: &HostFrame) -> Result<(), String> {
        let sent = self.trial.send(frame).await;
        sent.map_err(|error| error.to_string())
    }

    pub(super) async fn send_bytes(&mut self, bytes: &[u8]) -> Result<(), String> {
        let sent = self.trial.send_bytes(bytes).await;
        sent.map_err(|error| error.to_string())
    }

    /// Sends a question that carries `id` and waits for the frame that `pick` takes for its answer.
    pub(super) async fn ask<T>(
        &mut self,
        question: &HostFrame,
        id: &str,
        limit: Duration,
        pick: impl Fn(&ExtensionFrame) -> Option<T>,
    ) -> Answer<T> {
        if self.is_over() {
            return Answer::Over;
        }
        if let Err(error) = self.send(question).await {
            // A closed pipe is usually the first that is seen of an extension that has ended.
            return match self.survives(LAST_WORDS_TIME).await {
                true => Answer::Unsent(error),
                false => Answer::Over,
            };
        }
        self.wait_for(id, limit, pick).await
    }

    pub(super) async fn wait_for<T>(
        &mut self,
        id: &str,
        limit: Duration,
        pick: impl Fn(&ExtensionFrame) -> Option<T>,
    ) -> Answer<T> {
        let deadline = Instant::now() + limit;
        while let Some(heard) = self.trial.hear(deadline).await {
            match heard {
                Heard::Frame(frame) => match pick(&frame) {
                    Some(answer) => return Answer::Given(answer),
                    None => self.memory.note(Heard::Frame(frame)),
                },
                Heard::Unusable {
                    error:
                        FrameError::Invalid {
                            frame,
                            id: Some(answered),
                            error,
                        },
                    ..
                } if answered == id => return Answer::Invalid(format!("{frame}: {error}")),
                heard => self.memory.note(heard),
            }
            if self.is_over() {
                return Answer::Over;
            }
        }
        Answer::Late(limit)
    }

    /// Whether the extension is still there after `time`.
    pub(super) async fn survives(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while let Some(heard) = self.trial.hear(deadline).await {
            self.memory.note(heard);
            if self.is_over() {
                return false;
            }
        }
        !self.trial.has_ended().await
    }

    /// Ends the extension; also returns what is to be said about the lines that were no answers.
    pub(super) async fn finish(self) -> (Farewell, Vec<Finding>) {
        let Self { trial, mut memory } = self;
        let farewell = trial.shut_down(&mut |heard| memory.note(heard)).await;
        let mut findings = memory.unusable;
        if memory.more_unusable > 0 {
            findings.push(Finding::warn(
                "standard output",
                format!("{} more remarks of this kind", memory.more_unusable),
                "correct the first ones",
            ));
        }
        (farewell, findings)
    }
}
