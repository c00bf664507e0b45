//! One model call: sends the request, with silent retries, and turns the answer into events.
//!
//! Everything runs inside the stream that the caller polls, so dropping it ends the call.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, StatusCode, Uri};
use tokio::time::{Instant, Sleep};
use zot_conversation::{
    BoxFuture, ModelError, ModelErrorKind, ModelEvent, ResponseSize, Timestamp, ToolCallId,
};

use crate::body::RequestBody;
use crate::endpoint::{Endpoint, Target};
use crate::error::{cause_chain, connection_error, document_error, http_error, stream_error};
use crate::http::{Delivery, HttpClient, Response, ResponseBody, SendError};
use crate::retry::{self, Failure, Next};
use crate::sse::{SseDecoder, SseError, SseEvent};

/// What is read of the body of a refusal; a longer one costs the connection.
///
/// Limit: the rest of an error response is not read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The longest answer that is read as one document.
///
/// Limit: a response that is not streamed is an error.
const MAX_UNSTREAMED_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a streamed response, with everything that wires put around what is said: around
/// every token of the longest response a model can give, several times over.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_STREAM_BYTES: u64 = 256 * 1024 * 1024;

/// The most events of a streamed response, said or not.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_STREAM_EVENTS: u64 = 1_000_000;

/// How long a streamed response may take in all, and how long it may go on without saying anything:
/// keep-alives alone are no answer.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_STREAM_TIME: Duration = Duration::from_secs(6 * 60 * 60);
/// Limit: a stream of keep-alives only is an error; the text received so far is kept.
const MAX_KEEP_ALIVE_TIME: Duration = Duration::from_secs(30 * 60);

/// What a wire may put around what an event says before the whole event counts as said.
///
/// Limit: a longer event that carries little counts by its length.
const FREE_EVENT_BYTES: usize = 1024;

/// How much is decoded before others get a turn: a server that sends faster than this works must not
/// keep the user from stopping it.
const EVENTS_PER_TURN: u32 = 128;
const BYTES_PER_TURN: usize = 256 * 1024;

/// How long the body of a refusal may take; what has arrived by then is reported.
///
/// Limit: what has arrived of an error response is reported.
const ERROR_BODY_TIME: Duration = Duration::from_secs(10);

/// How long a finished answer waits for the end of its body, so that the connection can be reused.
///
/// Limit: the connection is not reused.
const END_OF_BODY_GRACE: Duration = Duration::from_millis(50);

/// Turns the events of one wire into the events of a model.
pub(crate) trait Decoder: Send + Unpin {
    /// Takes one event. `Done` when the answer is complete.
    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError>;

    /// The body ended, cleanly or not, before the wire's end marker: closes what is open, or says
    /// why the answer cannot count as complete.
    fn end(
        &mut self,
        cut: Option<&str>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError>;

    /// How many bytes of the response it has kept so far that no event has told yet.
    fn kept(&self) -> usize;

    /// Takes a whole answer that was not streamed. Where its shape is that of a streamed event,
    /// nothing more is needed.
    fn document(
        &mut self,
        body: &[u8],
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError> {
        let event = SseEvent {
            name: b"",
            data: body,
        };
        match self.event(event, events)? {
            Progress::More => self.end(None, events),
            Progress::Done => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    Done,
}

/// A request that is ready to be sent, as often as needed.
pub(crate) struct Call {
    pub(crate) http: HttpClient,
    pub(crate) endpoint: Arc<Endpoint>,
    pub(crate) uri: Uri,
    /// The part of the path that the user did not give.
    added_version: Option<&'static str>,
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
}

impl Call {
    /// A request to `target` below the endpoint's base URL.
    pub(crate) fn new(
        http: &HttpClient,
        endpoint: &Arc<Endpoint>,
        target: Target<'_>,
        mut headers: HeaderMap,
        body: RequestBody,
    ) -> Result<Self, ModelError> {
        if http.delivery() == Delivery::Whole {
            headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        }
        let uri = endpoint
            .uri(&target)
            .map_err(|reason| invalid_endpoint(&endpoint.provider, reason))?;
        Ok(Self {
            http: http.clone(),
            endpoint: Arc::clone(endpoint),
            added_version: endpoint.base().added_version(&target),
            uri,
            headers,
            body,
        })
    }

    /// Sends the request, `failures` of which have failed already.
    async fn open(self, failures: u32) -> Result<Opened, ModelError> {
        let posted = self.http.post(&self.uri, &self.headers, &self.body).await;
        let (failure, error) = match posted {
            Ok(response) if response.status.is_success() => {
                return self.accepted(response).map(Opened::Accepted);
            }
            Ok(response) => self.refusal(response).await,
            Err(error) => self.no_answer(&error),
        };
        let patience = self.http.patience();
        match retry::next(failures, failure, patience, retry::random_jitter()) {
            Next::Wait(wait) => Ok(Opened::Later {
                call: self,
                failures: failures + 1,
                wait,
                error,
            }),
            Next::Report => Err(error),
            Next::ReportWait(wait) => Err(asks_to_wait(error, wait)),
        }
    }

    fn accepted(&self, response: Response) -> Result<Response, ModelError> {
        match &response.compression {
            None => Ok(response),
            Some(coding) => Err(stream_error(&self.endpoint.provider, compressed(coding))),
        }
    }

    async fn refusal(&self, response: Response) -> (Failure, ModelError) {
        let status = response.status;
        let now = Timestamp::now();
        let named = response.retry.retry_after(now);
        let reset = match status {
            StatusCode::TOO_MANY_REQUESTS => response.retry.limit_reset(now),
            _ => None,
        };
        let should_retry = response.retry.should_retry();
        let body = match (response.location, response.compression) {
            (Some(location), _) if status.is_redirection() => {
                format!("the server redirects to {location}; change the base URL accordingly")
                    .into_bytes()
            }
            (_, Some(coding)) => compressed(&coding).into_bytes(),
            _ => read_error_body(response.body).await,
        };
        let retry_after = named.or_else(|| retry::retry_delay(&body)).or(reset);
        let mut error = http_error(
            &self.endpoint.provider,
            status,
            retry_after,
            &body,
            self.endpoint.secret().as_deref(),
        );
        if matches!(
            status,
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        ) {
            error = error.with_hint(self.wrong_path(&body));
        }
        let failure = match error.kind {
            // Whatever the headers say: the account is no fuller a second later.
            ModelErrorKind::InsufficientQuota => Failure::Final,
            _ => Failure::Status {
                status,
                retry_after,
                should_retry,
            },
        };
        (failure, error)
    }

    /// What to say about a server that does not know the address that was asked for.
    fn wrong_path(&self, body: &[u8]) -> String {
        let url = self.endpoint.shown_url(&self.uri);
        // Services answer the same way to a model that they do not have.
        let about_model = String::from_utf8_lossy(body)
            .to_ascii_lowercase()
            .contains("model");
        match self.added_version.filter(|_| !about_model) {
            Some(version) => {
                format!("POST {url}; if {version} does not belong there, end the base URL with #")
            }
            None => format!("POST {url}"),
        }
    }

    fn no_answer(&self, error: &SendError) -> (Failure, ModelError) {
        let failure = match error {
            SendError::Connection(_) => Failure::Connection,
            SendError::Timeout { .. } | SendError::Other(_) => Failure::Final,
        };
        let url = self.endpoint.shown_url(&self.uri);
        let error = connection_error(&self.endpoint.provider, &url, &error.to_string());
        (failure, error)
    }
}

/// What came of sending a request.
enum Opened {
    Accepted(Response),
    /// It is sent again after `wait`.
    Later {
        call: Call,
        failures: u32,
        wait: Duration,
        error: ModelError,
    },
}

/// An error that says why it was not waited for.
fn asks_to_wait(error: ModelError, wait: Duration) -> ModelError {
    let seconds = wait.as_secs_f64().ceil();
    error.with_hint(format!("the provider asks to wait {seconds} s"))
}

/// Why an answer cannot be read although it arrived.
fn compressed(coding: &str) -> String {
    format!(
        "the server compressed its answer ({coding}), which was not asked for: switch compression \
         off there or in whatever stands in front of it"
    )
}

/// Reads what a refusal says, as far as it arrives in time.
async fn read_error_body(mut body: ResponseBody) -> Vec<u8> {
    let mut text = Vec::new();
    let read = async {
        while text.len() < MAX_ERROR_BODY_BYTES {
            let piece =
                poll_fn(|context| body.poll_data(context, |data| text.extend_from_slice(data)));
            if !matches!(piece.await, Some(Ok(()))) {
                break;
            }
        }
    };
    // Over all of it: a server that dribbles would otherwise hold the error back for hours.
    let _ = tokio::time::timeout(ERROR_BODY_TIME, read).await;
    text
}

/// The stream of one answer.
pub(crate) struct Answer<'a, D> {
    state: State<'a>,
    idle: Duration,
    decoding: Decoding<'a, D>,
    content_type: Option<String>,
    /// Whether the answer is one document.
    whole: bool,
    endpoint: &'a Endpoint,
    /// Delivered after the events that came before it.
    failure: Option<ModelError>,
    /// Events handed out and bytes decoded since others had a turn.
    taken_events: u32,
    taken_bytes: usize,
    /// Makes another request of one that was refused.
    amend: Option<Amend<'a>>,
}

/// Takes the error of a refusal; `None` when it stands.
type Amend<'a> = Box<dyn FnMut(&ModelError) -> Option<Result<Call, ModelError>> + Send + 'a>;

enum State<'a> {
    Opening(BoxFuture<'a, Result<Opened, ModelError>>),
    Reading(Reading),
    /// The answer is complete; the last event waits for the end of the body, but not for long.
    Ending(ResponseBody, Pin<Box<Sleep>>),
    Ended,
}

struct Reading {
    body: ResponseBody,
    began: Instant,
    /// When something was last said, as far as is known.
    last_said: Instant,
    last_progress: Instant,
    deadline: Pin<Box<Sleep>>,
    progressed: bool,
}

/// From bytes to events.
struct Decoding<'a, D> {
    provider: &'a str,
    decoder: D,
    sse: SseDecoder,
    events: VecDeque<ModelEvent>,
    outcome: Result<Progress, ModelError>,
    /// Whether the body held any event at all, of whatever meaning.
    is_event_stream: bool,
    /// What has come of an answer that is not streamed.
    document: Option<Vec<u8>>,
    /// The beginning of a body that is not an event stream so far.
    beginning: Vec<u8>,
    measure: Measure,
}

/// How much of a streamed response has come.
#[derive(Default)]
struct Measure {
    bytes: u64,
    events: u64,
    size: ResponseSize,
    /// What the decoder had kept after the last event.
    kept: usize,
    /// Whether anything was said since this was last asked.
    said: bool,
}

impl Measure {
    /// Counts a piece of the body.
    fn piece(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes += bytes as u64;
        match self.bytes > MAX_STREAM_BYTES {
            true => Err(format!(
                "the response takes more than {MAX_STREAM_BYTES} bytes (MAX_STREAM_BYTES): the \
                 server does not stop; nothing more is read of it"
            )),
            false => Ok(()),
        }
    }

    /// Counts an event of `bytes`, of which the decoder made `said` and has `kept` so much besides. An
    /// event that is long and says little counts by its length.
    fn event<'a>(
        &mut self,
        bytes: usize,
        kept: usize,
        said: impl Iterator<Item = &'a ModelEvent>,
    ) -> Result<(), String> {
        self.events += 1;
        if self.events > MAX_STREAM_EVENTS {
            return Err(format!(
                "the response has more than {MAX_STREAM_EVENTS} events (MAX_STREAM_EVENTS): the \
                 server does not stop; nothing more is read of it"
            ));
        }
        let before = self.size.bytes();
        let mut counted = Ok(());
        let mut is_silent = true;
        for event in said {
            is_silent = false;
            counted = counted.and_then(|()| self.size.add(event));
        }
        self.said |= !is_silent;
        let told = self.size.bytes() - before;
        let untold = match bytes > told + FREE_EVENT_BYTES {
            true => bytes - told,
            false => kept.saturating_sub(self.kept),
        };
        self.kept = kept;
        counted = counted.and_then(|()| self.size.add_bytes(untold));
        counted.map_err(|limit| limit.to_string())
    }
}

impl<D: Decoder> Decoding<'_, D> {
    fn feed(&mut self, data: &[u8]) {
        if let Some(document) = &mut self.document {
            if document.len() + data.len() > MAX_UNSTREAMED_RESPONSE_BYTES {
                let cause =
                    format!("the answer is longer than {MAX_UNSTREAMED_RESPONSE_BYTES} bytes");
                self.outcome = Err(stream_error(self.provider, cause));
            } else {
                document.extend_from_slice(data);
            }
            return;
        }
        if let Err(limit) = self.measure.piece(data.len()) {
            self.outcome = Err(stream_error(self.provider, limit));
            return;
        }
        let Self {
            provider,
            decoder,
            events,
            outcome,
            is_event_stream,
            beginning,
            measure,
            ..
        } = self;
        if !*is_event_stream {
            let room = MAX_ERROR_BODY_BYTES.saturating_sub(beginning.len());
            beginning.extend_from_slice(data.get(..room).unwrap_or(data));
        }
        let fed = self.sse.feed(data, |event| {
            *is_event_stream = true;
            if matches!(outcome, Ok(Progress::More)) {
                let before = events.len();
                *outcome = decoder.event(event, events);
                let said = events.iter().skip(before);
                if let Err(limit) = measure.event(event.data.len(), decoder.kept(), said) {
                    // What has come before it is still told.
                    events.truncate(before);
                    *outcome = Err(stream_error(provider, limit));
                }
            }
        });
        self.check(fed);
    }

    fn end(&mut self, cut: Option<&str>) -> Result<(), ModelError> {
        if let (None, Some(document)) = (cut, self.document.take()) {
            return self.decoder.document(&document, &mut self.events);
        }
        if cut.is_none() {
            self.read_document();
            let Self {
                decoder,
                events,
                outcome,
                ..
            } = self;
            let finished = self.sse.finish(|event| {
                if matches!(outcome, Ok(Progress::More)) {
                    *outcome = decoder.event(event, events);
                }
            });
            self.check(finished);
        }
        match std::mem::replace(&mut self.outcome, Ok(Progress::Done))? {
            Progress::More => self.decoder.end(cut, &mut self.events),
            Progress::Done => Ok(()),
        }
    }

    /// Takes a JSON document as the answer: some servers send it whole although they are asked for a
    /// stream.
    fn read_document(&mut self) {
        let is_document = !self.is_event_stream && self.beginning.trim_ascii().starts_with(b"{");
        if is_document && matches!(self.outcome, Ok(Progress::More)) {
            let read = self.decoder.document(&self.beginning, &mut self.events);
            self.outcome = read.map(|()| Progress::Done);
        }
    }

    fn check(&mut self, decoded: Result<(), SseError>) {
        if let (Ok(Progress::More), Err(error)) = (&self.outcome, decoded) {
            self.outcome = Err(stream_error(self.provider, error));
        }
    }
}

impl<'a, D: Decoder> Answer<'a, D> {
    /// Prepares a call; `call` is made when the stream is first polled.
    pub(crate) fn new(
        endpoint: &'a Endpoint,
        http: &HttpClient,
        decoder: D,
        call: impl FnOnce() -> Result<Call, ModelError> + Send + 'a,
    ) -> Self {
        let timeouts = http.timeouts();
        let (idle, document) = match http.delivery() {
            Delivery::Streamed => (timeouts.idle, None),
            // A server may send its headers first and nothing more until the model is done.
            Delivery::Whole => (timeouts.headers, Some(Vec::new())),
        };
        Self {
            state: State::Opening(Box::pin(async move { call()?.open(0).await })),
            idle,
            decoding: Decoding {
                provider: &endpoint.provider,
                decoder,
                sse: SseDecoder::new(),
                events: VecDeque::new(),
                outcome: Ok(Progress::More),
                is_event_stream: false,
                document,
                beginning: Vec::new(),
                measure: Measure::default(),
            },
            content_type: None,
            whole: false,
            endpoint,
            failure: None,
            taken_events: 0,
            taken_bytes: 0,
            amend: None,
        }
    }

    /// Asks `amend` whether a request that was refused is to be sent in another form, at once and
    /// without anyone being told.
    pub(crate) fn amending(
        mut self,
        amend: impl FnMut(&ModelError) -> Option<Result<Call, ModelError>> + Send + 'a,
    ) -> Self {
        self.amend = Some(Box::new(amend));
        self
    }

    /// Moves on by one piece of the body.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                Ok(Opened::Later {
                    call,
                    failures,
                    wait,
                    error,
                }) => {
                    self.decoding.events.push_back(ModelEvent::Retrying {
                        failures,
                        wait,
                        error,
                    });
                    self.state = State::Opening(Box::pin(async move {
                        tokio::time::sleep(wait).await;
                        call.open(failures).await
                    }));
                }
                Ok(Opened::Accepted(response)) => {
                    self.content_type = response.content_type;
                    // Some servers stream whatever they are asked.
                    if self.is_content("text/event-stream") {
                        self.decoding.document = None;
                    }
                    self.whole = self.decoding.document.is_some();
                    self.decoding.events.push_back(ModelEvent::Start);
                    self.state = State::Reading(Reading::new(response.body, self.idle));
                }
                Err(error) => match self.amend.as_mut().and_then(|amend| amend(&error)) {
                    Some(Ok(call)) => self.state = State::Opening(Box::pin(call.open(0))),
                    Some(Err(error)) => self.fail(error),
                    None => self.fail(error),
                },
            },
            State::Reading(reading) => {
                let decoding = &mut self.decoding;
                let taken = &mut self.taken_bytes;
                let polled = reading.body.poll_data(context, |data| {
                    *taken += data.len();
                    decoding.feed(data);
                });
                match polled {
                    Poll::Ready(Some(Ok(()))) => {
                        reading.progressed = true;
                        let said = std::mem::take(&mut decoding.measure.said);
                        match reading.overtime(said) {
                            Some(limit) if !self.whole => {
                                let provider = self.decoding.provider;
                                self.fail(stream_error(provider, limit));
                            }
                            _ => self.check_outcome(),
                        }
                    }
                    Poll::Ready(Some(Err(error))) => self.body_ended(Some(&cause_chain(&error))),
                    Poll::Ready(None) => self.body_ended(None),
                    Poll::Pending => {
                        ready!(reading.poll_idle(context, self.idle));
                        let cause = format!("no data for {:?}", self.idle);
                        self.body_ended(Some(&cause));
                    }
                }
            }
            State::Ending(body, grace) => {
                // The clock comes first: a body that goes on and on uses up the task's budget.
                let ended = grace.as_mut().poll(context).is_ready()
                    || !matches!(ready!(body.poll_data(context, |_| ())), Some(Ok(())));
                if ended {
                    self.state = State::Ended;
                }
            }
            State::Ended => {}
        }
        Poll::Ready(())
    }

    fn check_outcome(&mut self) {
        match std::mem::replace(&mut self.decoding.outcome, Ok(Progress::More)) {
            Ok(Progress::More) => {}
            Ok(Progress::Done) => self.done(),
            Err(error) => self.fail(error),
        }
    }

    fn body_ended(&mut self, cut: Option<&str>) {
        self.state = State::Ended;
        if let Err(error) = self.decoding.end(cut) {
            self.fail(self.other_content().unwrap_or(error));
        }
    }

    /// A page or a document where a stream of events should have been says more about what went
    /// wrong than the end that is missing.
    fn other_content(&self) -> Option<ModelError> {
        if self.decoding.is_event_stream {
            return None;
        }
        // Some gateways report errors with the status of a success.
        let document = serde_json::from_slice(&self.decoding.beginning).ok();
        let secret = self.endpoint.secret();
        let error = document.and_then(|document| {
            document_error(&self.endpoint.provider, &document, secret.as_deref())
        });
        if error.is_some() {
            return error;
        }
        let content_type = self.content_type.as_deref()?;
        let (expected, name) = match self.whole {
            true => ("application/json", "JSON"),
            false => ("text/event-stream", "an event stream"),
        };
        let named_wrong = !self.is_content(expected);
        named_wrong.then(|| {
            stream_error(
                self.decoding.provider,
                format_args!(
                    "the server sent {content_type} instead of {name}: is the base URL \
                     the address of its API?"
                ),
            )
        })
    }

    fn is_content(&self, expected: &str) -> bool {
        let content_type = self.content_type.as_deref();
        content_type.is_some_and(|content_type| content_type.starts_with(expected))
    }

    fn done(&mut self) {
        if let State::Reading(reading) = std::mem::replace(&mut self.state, State::Ended) {
            let grace = Box::pin(tokio::time::sleep(END_OF_BODY_GRACE));
            self.state = State::Ending(reading.body, grace);
        }
    }

    fn fail(&mut self, error: ModelError) {
        self.state = State::Ended;
        self.failure = Some(error);
    }
}

impl Reading {
    fn new(body: ResponseBody, idle: Duration) -> Self {
        let now = Instant::now();
        Self {
            body,
            began: now,
            last_said: now,
            last_progress: now,
            deadline: Box::pin(tokio::time::sleep(idle)),
            progressed: false,
        }
    }

    /// Why a response that goes on and on is given up.
    fn overtime(&mut self, said: bool) -> Option<String> {
        let now = Instant::now();
        if said {
            self.last_said = now;
        }
        if now.duration_since(self.began) > MAX_STREAM_TIME {
            return Some(format!(
                "the response took longer than {MAX_STREAM_TIME:?} (MAX_STREAM_TIME)"
            ));
        }
        let is_silent = now.duration_since(self.last_said) > MAX_KEEP_ALIVE_TIME;
        is_silent.then(|| {
            format!(
                "the server sent nothing but keep-alives for {MAX_KEEP_ALIVE_TIME:?} (MAX_KEEP_ALIVE_TIME)"
            )
        })
    }

    /// Ready when nothing arrived for `idle`. The timer is moved only when it fires, because moving
    /// it for every piece of an answer costs more than decoding the piece.
    fn poll_idle(&mut self, context: &mut Context<'_>, idle: Duration) -> Poll<()> {
        if std::mem::take(&mut self.progressed) {
            self.last_progress = Instant::now();
        }
        loop {
            ready!(self.deadline.as_mut().poll(context));
            let due = self.last_progress + idle;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            self.deadline.as_mut().reset(due);
        }
    }
}

impl<D: Decoder> Stream for Answer<'_, D> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if this.taken_events >= EVENTS_PER_TURN || this.taken_bytes >= BYTES_PER_TURN {
                (this.taken_events, this.taken_bytes) = (0, 0);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            // A complete answer keeps its last event back until its connection is free again.
            let held = usize::from(matches!(this.state, State::Ending(..)));
            let events = &mut this.decoding.events;
            if events.len() > held
                && let Some(event) = events.pop_front()
            {
                this.taken_events += 1;
                return Poll::Ready(Some(Ok(event)));
            }
            if matches!(this.state, State::Ended) {
                return Poll::Ready(this.failure.take().map(Err));
            }
            ready!(this.poll_step(context));
        }
    }
}

/// A base URL that no request can be sent to.
pub(crate) fn invalid_endpoint(provider: &str, reason: impl std::fmt::Display) -> ModelError {
    let message = format!("the base URL cannot be used: {reason}");
    ModelError::new(ModelErrorKind::Invalid, message).with_provider(provider)
}

/// An id for a tool call that the server did not name, unlike any other in the conversation.
pub(crate) fn generated_id() -> ToolCallId {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let now = Timestamp::now().as_microsecond();
    format!("call_{now:x}_{count}").into()
}

/// Decodes recorded bodies for the tests of each wire.
#[cfg(test)]
pub(crate) mod replay;
