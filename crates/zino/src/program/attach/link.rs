//! The connection to the worker that has the session.

use std::io::Write as _;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::time::sleep;
use zino_agent::LinkEnd;
use zot_conversation::BoxFuture;
use zot_wire::{Line, LineDecoder};

use crate::agents::wire::{CloseReason, OpenRequest, ProfileFacts, WorkerLine, service_name};
use crate::bus::{Bus, BusCallError, BusFailure, DuplexReceiver, DuplexSender};
use crate::peer::{CallError, Unreachable};

/// How long to wait before a session is asked for again.
///
/// Limit: the pause between two attempts to open a session.
const OPEN_PAUSE: Duration = Duration::from_millis(300);

/// When the user is told that a session is waited for.
const PATIENT_TIME: Duration = Duration::from_secs(1);

/// The longest line of a worker: a whole conversation is one line.
///
/// Limit: a worker that sends a longer line counts as lost.
const MAX_WORKER_LINE_BYTES: usize = 512 * 1024 * 1024;

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
            lines: LineDecoder::with_limit(MAX_WORKER_LINE_BYTES),
            closed: None,
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
    lines: LineDecoder,
    /// What the worker said before it closed the session.
    closed: Option<(CloseReason, String)>,
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
                Ok(None) => LinkEvent::Ended(self.end()),
                Err(error) => LinkEvent::Ended(match &self.closed {
                    Some(_) => self.end(),
                    None => LinkEnd::Lost(error.to_string()),
                }),
            },
        }
    }

    /// Takes the lines that arrived, except those that are for us.
    pub(super) fn take_lines(&mut self, mut take: impl FnMut(&[u8])) {
        while let Some(line) = self.lines.next_line() {
            match line {
                Line::Complete(line) => match WorkerLine::closed(line) {
                    Some(closed) => self.closed = Some(closed),
                    None => take(line),
                },
                Line::TooLong => {
                    let message = "it sent a line that is too long".to_owned();
                    self.closed = Some((CloseReason::Failed, message));
                }
            }
        }
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

    fn end(&self) -> LinkEnd {
        match &self.closed {
            Some((CloseReason::Finished, _)) => LinkEnd::Finished,
            Some((_, message)) => LinkEnd::Lost(message.clone()),
            None => LinkEnd::Lost("it ended without a reason".to_owned()),
        }
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
