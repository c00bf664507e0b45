//! The connection to the worker that has the session.

use std::io::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::sleep;
use zino_agent::LinkEnd;
use zot_conversation::BoxFuture;
use zot_wire::Line;

use crate::agents::wire::{OpenRequest, ProfileFacts, WorkerLine, service_name};
use crate::bus::{Bus, BusCallError, BusFailure, DuplexReceiver, DuplexSender};
use crate::peer::{CallError, Unreachable};

use super::worker_lines::WorkerLines;

/// How long to wait before a session is asked for again.
///
/// Limit: the pause between two attempts to open a session.
const OPEN_PAUSE: Duration = Duration::from_millis(300);

/// When the user is told that a session is waited for.
const PATIENT_TIME: Duration = Duration::from_secs(1);

/// How much of the client's lines goes into one frame.
const INPUT_FRAME_BYTES: usize = 64 * 1024;

/// Why no worker opened the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenFailure {
    pub code: String,
    pub message: String,
    /// Whether another attempt may succeed.
    is_temporary: bool,
}

/// Where a session can be opened.
#[derive(Clone)]
pub(super) struct Entrance {
    pub(super) bus: Bus,
    pub(super) profile: String,
    pub(super) session: Option<String>,
    pub(super) wait: Duration,
}

impl Entrance {
    /// Opens the session on any worker, waiting for one if necessary.
    pub(super) async fn open(&self) -> Result<Link, OpenFailure> {
        let since = Instant::now();
        let mut has_told = false;
        loop {
            let failure = match self.try_open().await {
                Ok(link) => return Ok(link),
                Err(failure) => failure,
            };
            let waited = since.elapsed();
            if !failure.is_temporary || waited + OPEN_PAUSE > self.wait {
                return Err(failure);
            }
            if waited > PATIENT_TIME && !std::mem::replace(&mut has_told, true) {
                // Standard error may be closed.
                let message = &failure.message;
                let _ = writeln!(zot_terminal::stderr(), "zino: waiting: {message}");
            }
            sleep(OPEN_PAUSE).await;
        }
    }

    async fn try_open(&self) -> Result<Link, OpenFailure> {
        let request = OpenRequest {
            session: self.session.clone(),
            profile: self.profile.clone(),
        };
        let service = service_name(&self.profile);
        let duplex = self.bus.open(&service, request.to_bytes()).await;
        let (sender, receiver) = duplex.map_err(|error| call_failed(&error))?.split();
        let mut link = Link {
            session: String::new(),
            profile: ProfileFacts::default(),
            sending: Sending::Idle(sender),
            unsent: Vec::new(),
            is_finishing: false,
            receiver,
            lines: WorkerLines::default(),
        };
        (link.session, link.profile) = link.first_line().await?;
        Ok(link)
    }
}

/// What happened on a link.
pub(super) enum LinkEvent {
    /// Something was sent, or lines may have arrived.
    Progress,
    Ended(LinkEnd),
}

/// An open session.
pub(super) struct Link {
    session: String,
    profile: ProfileFacts,
    sending: Sending,
    unsent: Vec<u8>,
    is_finishing: bool,
    receiver: DuplexReceiver,
    lines: WorkerLines,
}

enum Sending {
    Idle(DuplexSender),
    Busy(BoxFuture<'static, Sending>),
    /// All was sent, or it failed: then what the worker still says, or its silence, decides. The sender is
    /// kept, because dropping it could cancel the call.
    Over {
        _kept: Option<DuplexSender>,
    },
}

impl Link {
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    /// What its profile is like, as its worker says.
    pub(super) fn profile(&self) -> &ProfileFacts {
        &self.profile
    }

    /// Sends lines as fast as the worker takes them.
    pub(super) fn send(&mut self, lines: Vec<u8>) {
        match self.unsent.is_empty() {
            true => self.unsent = lines,
            false => self.unsent.extend(lines),
        }
    }

    /// Tells the worker that there are no more lines, after those that are still to be sent.
    pub(super) fn finish(&mut self) {
        self.is_finishing = true;
    }

    /// Waits until lines were sent, and receives nothing. Cancel-safe.
    pub(super) async fn next_sent(&mut self) -> LinkEvent {
        self.begin_sending();
        sent(&mut self.sending).await;
        LinkEvent::Progress
    }

    /// Waits until something happens. Cancel-safe.
    pub(super) async fn next(&mut self) -> LinkEvent {
        // They may have come together with the first one.
        if self.lines.has_line() {
            return LinkEvent::Progress;
        }
        self.begin_sending();
        tokio::select! {
            () = sent(&mut self.sending) => LinkEvent::Progress,
            received = self.receiver.next() => match received {
                Ok(Some(frame)) => {
                    self.lines.feed(&frame);
                    LinkEvent::Progress
                }
                Ok(None) => LinkEvent::Ended(self.lines.end("it ended without a reason")),
                Err(error) => LinkEvent::Ended(self.lines.end(&error.to_string())),
            },
        }
    }

    /// Takes the lines that arrived, except those that are for us. Returns how the link ended if there can
    /// be no others.
    pub(super) fn take_lines(&mut self, take: impl FnMut(&[u8])) -> Option<LinkEnd> {
        self.lines.take(take)
    }

    fn begin_sending(&mut self) {
        if self.unsent.is_empty() && !self.is_finishing {
            return;
        }
        let mut sender = match std::mem::replace(&mut self.sending, Sending::Over { _kept: None }) {
            Sending::Idle(sender) => sender,
            other => {
                self.sending = other;
                return;
            }
        };
        let frames: Vec<Bytes> = std::mem::take(&mut self.unsent)
            .chunks(INPUT_FRAME_BYTES)
            .map(Bytes::copy_from_slice)
            .collect();
        let finishes = self.is_finishing;
        self.sending = Sending::Busy(Box::pin(async move {
            if sender.send_all(frames).await.is_err() {
                return Sending::Over {
                    _kept: Some(sender),
                };
            }
            if finishes {
                // The worker that is gone need not be told.
                let _ = sender.finish().await;
                return Sending::Over {
                    _kept: Some(sender),
                };
            }
            Sending::Idle(sender)
        }));
    }

    /// Reads the first line, which says which session was opened.
    async fn first_line(&mut self) -> Result<(String, ProfileFacts), OpenFailure> {
        loop {
            let unreadable = |message: &str| OpenFailure {
                code: "failed".to_owned(),
                message: format!("the worker cannot be understood: {message}"),
                is_temporary: false,
            };
            match self.lines.next_line() {
                Some(Line::Complete(line)) => {
                    return match serde_json::from_slice(line) {
                        Ok(WorkerLine::Opened {
                            session, profile, ..
                        }) => Ok((session, profile)),
                        Ok(WorkerLine::Refused { code, message }) => Err(refused(code, message)),
                        Ok(WorkerLine::Closed { message, .. }) => Err(unreadable(&message)),
                        Err(error) => Err(unreadable(&error.to_string())),
                    };
                }
                Some(Line::TooLong) => return Err(unreadable("a line is too long")),
                None => {}
            }
            match self.receiver.next().await {
                Ok(Some(frame)) => self.lines.feed(&frame),
                Ok(None) => return Err(unreadable("it ended without an answer")),
                Err(error) => return Err(call_failed(&error)),
            }
        }
    }
}

/// Waits until the frames that are on their way were sent, forever if there are none.
async fn sent(sending: &mut Sending) {
    let Sending::Busy(busy) = sending else {
        return std::future::pending().await;
    };
    *sending = busy.await;
}

fn refused(code: String, message: String) -> OpenFailure {
    let is_temporary = matches!(
        code.as_str(),
        "session_busy" | "draining" | "full" | "store_unavailable"
    );
    OpenFailure {
        code,
        message,
        is_temporary,
    }
}

fn call_failed(error: &CallError) -> OpenFailure {
    let failure = match error {
        CallError::Unreachable(Unreachable::Bus(BusCallError { failure, .. })) => Some(failure),
        _ => None,
    };
    let is_final = matches!(failure, Some(BusFailure::Forbidden(_)));
    OpenFailure {
        code: "unavailable".to_owned(),
        message: error.to_string(),
        is_temporary: !is_final,
    }
}
