//! The sessions of one profile as a service on the bus.

use std::io;

use bytes::{Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use zino_agent::{Session, SessionEnd, StoreError, Worker};
use zot_conversation::BoxFuture;

use super::watched::{OpenSession, SESSION_EVENTS};
use super::wire::{CloseReason, OpenRequest, ProfileFacts, WorkerLine, service_name};
use crate::bus::{Bus, Duplex, DuplexReceiver, DuplexSender, DuplexService};
use crate::logging::Log;
use crate::metrics::{self, ErrorLabel};
use crate::peer::CallError;

/// How much of a session's output goes into one frame.
const OUTPUT_FRAME_BYTES: usize = 64 * 1024;

/// The longest event that watchers get.
///
/// Limit: longer events of sessions are not shown to watchers.
const MAX_WATCHED_EVENT_BYTES: usize = 256 * 1024;

/// Sessions of one profile, for clients on the bus.
pub struct AgentService {
    pub profile: String,
    pub facts: ProfileFacts,
    pub max_sessions: usize,
    pub worker: Worker,
    pub bus: Bus,
    pub log: Log,
}

impl DuplexService for AgentService {
    fn name(&self) -> String {
        service_name(&self.profile)
    }

    fn capacity(&self) -> usize {
        self.max_sessions
    }

    fn open(&self, request: Bytes, duplex: Duplex) -> BoxFuture<'static, ()> {
        let (worker, bus, log) = (self.worker.clone(), self.bus.clone(), self.log);
        let (profile, facts) = (self.profile.clone(), self.facts.clone());
        let counted = metrics::of_named(&self.name());
        Box::pin(async move {
            let (mut sender, receiver) = duplex.split();
            let session = match open(&worker, &request).await {
                Ok(session) => session,
                Err(refused) => {
                    counted.begin().service().count_error(label(&refused));
                    log.info(format_args!("a session was not opened: {}", text(&refused)));
                    // A client that is gone needs no answer.
                    let _ = last(&mut sender, &refused).await;
                    return;
                }
            };
            for warning in &session.warnings {
                log.warning(format_args!("session {}: {warning}", session.id));
            }
            if session.resumed_messages > 0 {
                metrics::SESSIONS_RESUMED.add_one();
            }
            let id = session.id.clone();
            let _open = OpenSession::new(&bus, &id, &profile, counted);
            match serve(session, facts, (sender, receiver), &bus).await {
                Ok(end @ (SessionEnd::Failed(_) | SessionEnd::Moved | SessionEnd::Lost)) => {
                    log.warning(format_args!("session {id} ended: {end:?}"));
                }
                Ok(end) => log.debug(format_args!("session {id} ended: {end:?}")),
                Err(error) => log.info(format_args!("session {id}: its client is gone: {error}")),
            }
        })
    }
}

async fn open(worker: &Worker, request: &[u8]) -> Result<Session, WorkerLine> {
    let refused = |code: &str, message: String| WorkerLine::Refused {
        code: code.to_owned(),
        message,
    };
    let request: OpenRequest = serde_json::from_slice(request)
        .map_err(|error| refused("failed", format!("the request cannot be read: {error}")))?;
    let opened = worker.open(request.session.as_deref()).await;
    opened.map_err(|error| refused(error.code(), error.to_string()))
}

fn label(line: &WorkerLine) -> ErrorLabel {
    match line {
        WorkerLine::Refused { code, .. } => ErrorLabel::of_code(code),
        _ => ErrorLabel::Error,
    }
}

fn text(line: &WorkerLine) -> String {
    match line {
        WorkerLine::Refused { message, .. } => message.clone(),
        _ => String::new(),
    }
}

async fn last(sender: &mut DuplexSender, line: &WorkerLine) -> Result<(), CallError> {
    sender.send(line.to_bytes()).await?;
    sender.finish().await
}

/// Passes lines in both directions until the session is over. An error means that the client is gone; the
/// session then ends by itself.
async fn serve(
    session: Session,
    facts: ProfileFacts,
    (mut sender, receiver): (DuplexSender, DuplexReceiver),
    bus: &Bus,
) -> Result<SessionEnd, CallError> {
    let Session {
        id,
        resumed_messages,
        input,
        output,
        end,
        ..
    } = session;
    let opened = WorkerLine::Opened {
        session: id.clone(),
        resumed: resumed_messages,
        profile: facts,
    };
    sender.send(opened.to_bytes()).await?;
    tokio::select! {
        sent = send_output(output, &mut sender, bus, &id) => sent?,
        gone = receive_input(receiver, input) => return Err(gone),
    }
    let end = end.await.unwrap_or(SessionEnd::Stopped);
    last(&mut sender, &closed(&end)).await?;
    Ok(end)
}

/// Passes the client's lines to the session; returns only if the client is gone.
async fn receive_input(mut receiver: DuplexReceiver, mut input: pipe::Sender) -> CallError {
    loop {
        match receiver.next().await {
            Ok(Some(frame)) => {
                let written = tokio::select! {
                    written = input.write_all(&frame) => written,
                    gone = receiver.lost() => return gone,
                };
                if written.is_err() {
                    // The session is ending, which its output shows.
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => return error,
        }
    }
    drop(input);
    receiver.lost().await
}

/// Passes the session's lines to the client and its events to watchers, until the session is over.
async fn send_output(
    mut output: pipe::Receiver,
    sender: &mut DuplexSender,
    bus: &Bus,
    id: &str,
) -> Result<(), CallError> {
    let mut watched = Watched::default();
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(OUTPUT_FRAME_BYTES);
        let read = read_some(&mut output, &mut buffer).await;
        if !matches!(read, Ok(1..)) {
            return Ok(());
        }
        let frame = buffer.split().freeze();
        watched.feed(&frame, |event| bus.publish_event(SESSION_EVENTS, id, event));
        sender.send(frame).await?;
    }
}

async fn read_some(output: &mut pipe::Receiver, buffer: &mut BytesMut) -> io::Result<usize> {
    output.read_buf(buffer).await
}

/// Finds the events in a session's output.
#[derive(Default)]
struct Watched {
    /// The beginning of a line whose end is still to come.
    partial: Vec<u8>,
    is_skipping: bool,
}

impl Watched {
    fn feed(&mut self, bytes: &Bytes, publish: impl Fn(Bytes)) {
        let mut rest = bytes.clone();
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.split_to(end);
            let _line_feed = rest.split_to(1);
            let line = match self.partial.is_empty() {
                true => line,
                false => {
                    self.partial.extend_from_slice(&line);
                    std::mem::take(&mut self.partial).into()
                }
            };
            let is_whole = !std::mem::take(&mut self.is_skipping);
            if is_whole && is_watched(&line) {
                publish(line);
            }
        }
        if self.partial.len() + rest.len() > MAX_WATCHED_EVENT_BYTES {
            self.partial = Vec::new();
            self.is_skipping = true;
        } else if !self.is_skipping {
            self.partial.extend_from_slice(&rest);
        }
    }
}

/// Responses are for the client alone, and may hold whole conversations.
fn is_watched(line: &[u8]) -> bool {
    line.len() <= MAX_WATCHED_EVENT_BYTES && !line.starts_with(b"{\"type\":\"response\"")
}

fn closed(end: &SessionEnd) -> WorkerLine {
    let (reason, message) = match end {
        SessionEnd::Finished => (CloseReason::Finished, String::new()),
        SessionEnd::Moved => (
            CloseReason::Moved,
            "another worker has taken the session over".to_owned(),
        ),
        SessionEnd::Lost => (CloseReason::Moved, StoreError::Lost.to_string()),
        SessionEnd::Stopped => (CloseReason::Stopped, "the worker was stopped".to_owned()),
        SessionEnd::Failed(problem) => (CloseReason::Failed, problem.clone()),
    };
    WorkerLine::Closed { reason, message }
}
