//! The log line and the metrics of a request, whichever way it arrived.

use std::fmt;

use tokio::time::Instant;
use zot_wire::zino::{ErrorCode, Frame, Request, Response};

use crate::kind::ServiceKind;
use crate::logging::{Level, Log};
use crate::metrics::{self, ErrorLabel, Running};

/// How much of a peer's text is logged.
const SHOWN_CHARACTERS: usize = 80;

/// A request in progress. Its subject is only kept when its line will be written.
pub(crate) struct RequestLine {
    log: Log,
    began: Instant,
    subject: Option<Subject>,
    running: Running,
    is_answered: bool,
}

struct Subject {
    kind: String,
    channel: Option<String>,
}

/// How a request ended.
#[derive(Debug, Default)]
pub(crate) enum Outcome {
    #[default]
    NoResponse,
    Ok,
    Error {
        code: Option<ErrorCode>,
        message: String,
    },
    HungUp,
}

impl RequestLine {
    /// Begins the line of a request that came over a socket, valid or not.
    pub(crate) fn of_frame(log: Log, service: ServiceKind, frame: &Frame) -> Self {
        Self::begin(log, service, || Subject::of_frame(service, frame))
    }

    /// Begins the line of a request from a service of this process.
    pub(crate) fn of_request(log: Log, service: ServiceKind, request: &impl Request) -> Self {
        Self::begin(log, service, || Subject {
            kind: request.type_name().to_owned(),
            channel: request.channel_id().map(printable),
        })
    }

    fn begin(log: Log, service: ServiceKind, subject: impl FnOnce() -> Subject) -> Self {
        Self {
            log,
            began: Instant::now(),
            subject: log.writes(Level::Info).then(subject),
            running: metrics::of(service).begin(),
            is_answered: false,
        }
    }

    /// Sets the start of the duration to when the request began to arrive.
    pub(crate) fn since(mut self, began: Instant) -> Self {
        self.began = began;
        self
    }

    /// Notes that a frame of the response is there; only the first one counts.
    pub(crate) fn answered(&mut self) {
        if !self.is_answered {
            self.is_answered = true;
            self.running
                .service()
                .record_first_frame(self.began.elapsed());
        }
    }

    pub(crate) fn end(&self, outcome: &Outcome) {
        if let Some(label) = outcome.label() {
            self.running.service().count_error(label);
        }
        if let Some(subject) = &self.subject {
            self.log.info(format_args!(
                "{subject} duration_ms={:.1} outcome={outcome}",
                milliseconds(self.began)
            ));
        }
    }
}

/// Logs the line of a request that could not be read.
pub(crate) fn refused(log: Log, service: ServiceKind, began: Instant, reason: &str) {
    metrics::of(service)
        .begin()
        .service()
        .count_error(ErrorLabel::Refused);
    log.warning(format_args!(
        "type=? duration_ms={:.1} outcome=refused: {}",
        milliseconds(began),
        printable(reason)
    ));
}

impl Outcome {
    /// The outcome that the last frame of a response stands for.
    pub(crate) fn of(response: &impl Response) -> Self {
        match response.as_failure() {
            Some(failure) => Self::Error {
                code: failure.code,
                message: printable(failure.message.as_deref().unwrap_or("")),
            },
            None => Self::Ok,
        }
    }

    /// How it is counted, unless it is good.
    fn label(&self) -> Option<ErrorLabel> {
        match self {
            Self::Ok => None,
            Self::NoResponse => Some(ErrorLabel::NoResponse),
            Self::HungUp => Some(ErrorLabel::HungUp),
            Self::Error { code: None, .. } => Some(ErrorLabel::Error),
            Self::Error {
                code: Some(code), ..
            } => Some(ErrorLabel::of_code(code.name())),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponse => formatter.write_str("no response"),
            Self::Ok => formatter.write_str("ok"),
            Self::Error { message, .. } => write!(formatter, "error: {message}"),
            Self::HungUp => formatter.write_str("hung up"),
        }
    }
}

impl Subject {
    fn of_frame(service: ServiceKind, frame: &Frame) -> Self {
        let kind = match frame.type_name() {
            Some(kind @ ("ping" | "version")) => kind.to_owned(),
            // Requests to the daemon have no type: there is only one kind, streamed or not.
            _ if service == ServiceKind::Daemon => match frame.wants_stream() {
                true => "stream".to_owned(),
                false => "request".to_owned(),
            },
            Some(kind) => printable(kind),
            None => "-".to_owned(),
        };
        Self {
            kind,
            channel: frame.text("channel_id").map(printable),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "type={}", self.kind)?;
        match &self.channel {
            Some(channel) => write!(formatter, " channel={channel}"),
            None => Ok(()),
        }
    }
}

fn milliseconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64() * 1000.0
}

/// The beginning of a peer's text, safe for a line of a log.
fn printable(text: &str) -> String {
    text.chars()
        .take(SHOWN_CHARACTERS)
        .map(|character| match character.is_control() {
            true => '?',
            false => character,
        })
        .collect()
}
