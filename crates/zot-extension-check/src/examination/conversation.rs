//! Requests and responses, and a record of the extension's other output.

use std::time::Duration;

use tokio::time::Instant;
use zot_wire::extension::{ExtensionFrame, FrameError, HostFrame};

use crate::finding::Finding;
use crate::trial::{ExtensionOutput, Introduction, IntroductionError, ShutdownReport, Trial};

/// How many unusable lines are reported one by one.
const REPORTED_LINES: usize = 5;

/// How long it may take to see that an extension has ended.
const FINAL_OUTPUT_TIME: Duration = Duration::from_millis(200);

/// The outcome of a request.
pub(super) enum Response<T> {
    Received(T),
    TimedOut(Duration),
    Invalid(String),
    /// The extension has ended.
    Ended,
    NotSent(String),
}

pub(super) struct Conversation<'a> {
    trial: Trial,
    other_output: OtherOutput<'a>,
}

/// Output other than responses.
struct OtherOutput<'a> {
    log: &'a mut (dyn FnMut(&str) + Send),
    unusable: Vec<Finding>,
    more_unusable: usize,
    ended: bool,
}

impl OtherOutput<'_> {
    fn note(&mut self, output: ExtensionOutput) {
        let finding = match output {
            ExtensionOutput::Log(line) => {
                (self.log)(&line);
                return;
            }
            ExtensionOutput::StdoutClosed | ExtensionOutput::StreamsClosed => {
                self.ended = true;
                return;
            }
            ExtensionOutput::Frame(ExtensionFrame::Notify { level, message }) => {
                if ["info", "success", "warn", "error"].contains(&level.as_str()) {
                    Finding::ok("notify", format!("{level}: {message}"))
                } else {
                    let hint = "use info, success, warn or error";
                    Finding::warn("notify", format!("unknown level {level:?}"), hint)
                }
            }
            // Registrations and panel drawings may arrive at any time.
            ExtensionOutput::Frame(_) => return,
            ExtensionOutput::TooLong => Finding::fail(
                "standard output",
                "a line of more than 16 MiB",
                "send less: such a line is dropped",
            ),
            ExtensionOutput::Unusable {
                error: FrameError::UnknownType(kind),
                ..
            } => Finding::warn(
                "standard output",
                format!("a frame of unknown type {kind:?}"),
                "it is ignored: check the spelling",
            ),
            ExtensionOutput::Unusable {
                line,
                error: FrameError::Malformed(_),
            } => Finding::fail(
                "standard output",
                format!("not a frame: {line}"),
                "nothing but frames may go to standard output: print to standard error",
            ),
            ExtensionOutput::Unusable { error, .. } => Finding::fail(
                "standard output",
                error.to_string(),
                "correct the field: the frame is ignored",
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
            other_output: OtherOutput {
                log,
                unusable: Vec::new(),
                more_unusable: 0,
                ended: false,
            },
        }
    }

    pub(super) fn has_ended(&self) -> bool {
        self.other_output.ended
    }

    pub(super) fn next_id(&mut self) -> String {
        self.trial.next_id()
    }

    pub(super) async fn introduce(
        &mut self,
        hello_deadline: Instant,
        ready_deadline: Instant,
    ) -> Result<Introduction, IntroductionError> {
        let other_output = &mut self.other_output;
        self.trial
            .introduce(hello_deadline, ready_deadline, &mut |output| {
                other_output.note(output);
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

    /// Sends a request with the id `id` and waits for the frame that `pick` accepts as its response.
    pub(super) async fn request<T>(
        &mut self,
        frame: &HostFrame,
        id: &str,
        limit: Duration,
        pick: impl Fn(&ExtensionFrame) -> Option<T>,
    ) -> Response<T> {
        if self.has_ended() {
            return Response::Ended;
        }
        if let Err(error) = self.send(frame).await {
            // A closed pipe is usually the first sign that an extension has ended.
            return match self.survives(FINAL_OUTPUT_TIME).await {
                true => Response::NotSent(error),
                false => Response::Ended,
            };
        }
        self.wait_for(id, limit, pick).await
    }

    pub(super) async fn wait_for<T>(
        &mut self,
        id: &str,
        limit: Duration,
        pick: impl Fn(&ExtensionFrame) -> Option<T>,
    ) -> Response<T> {
        let deadline = Instant::now() + limit;
        while let Some(output) = self.trial.receive(deadline).await {
            match output {
                ExtensionOutput::Frame(frame) => match pick(&frame) {
                    Some(response) => return Response::Received(response),
                    None => self.other_output.note(ExtensionOutput::Frame(frame)),
                },
                ExtensionOutput::Unusable {
                    error:
                        FrameError::Invalid {
                            frame,
                            id: Some(answered),
                            error,
                        },
                    ..
                } if answered == id => return Response::Invalid(format!("{frame}: {error}")),
                output => self.other_output.note(output),
            }
            if self.has_ended() {
                return Response::Ended;
            }
        }
        Response::TimedOut(limit)
    }

    /// Returns whether the extension is still running after `time`.
    pub(super) async fn survives(&mut self, time: Duration) -> bool {
        let deadline = Instant::now() + time;
        while let Some(output) = self.trial.receive(deadline).await {
            self.other_output.note(output);
            if self.has_ended() {
                return false;
            }
        }
        !self.trial.has_ended().await
    }

    /// Shuts the extension down; also returns the findings about its other output.
    pub(super) async fn finish(self) -> (ShutdownReport, Vec<Finding>) {
        let Self {
            trial,
            mut other_output,
        } = self;
        let report = trial
            .shut_down(&mut |output| other_output.note(output))
            .await;
        let mut findings = other_output.unusable;
        if other_output.more_unusable > 0 {
            findings.push(Finding::warn(
                "standard output",
                format!("{} more such lines", other_output.more_unusable),
                "correct the first ones",
            ));
        }
        (report, findings)
    }
}
