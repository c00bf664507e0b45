//! One model call: sends the request, with silent retries, and turns the answer into events.
//!
//! Everything runs inside the stream that the caller polls, so dropping it ends the call.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http::header::RETRY_AFTER;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body::Body;
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep};
use zot_conversation::{BoxFuture, ModelError, ModelErrorKind, ModelEvent, Timestamp};

use crate::body::RequestBody;
use crate::endpoint::Endpoint;
use crate::error::{cause_chain, connection_error, http_error, stream_error};
use crate::http::{HttpClient, SendError};
use crate::retry::{self, Failure};
use crate::sse::{SseDecoder, SseEvent};

/// What is read of the body of a refusal; a longer one costs the connection.
const MAX_ERROR_BODY: usize = 64 * 1024;

/// How long a finished answer waits for the end of its body, so that the connection can be reused.
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
    fn end(&mut self, cut: Option<&str>, events: &mut VecDeque<ModelEvent>)
    -> Result<(), ModelError>;
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
    pub(crate) headers: HeaderMap,
    pub(crate) body: RequestBody,
}

impl Call {
    /// Sends the request until it is accepted or the retry policy gives up.
    async fn open(self) -> Result<Response<Incoming>, ModelError> {
        let mut attempt = 0;
        loop {
            let (failure, error) = match self.http.send(self.request()).await {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => self.refusal(response).await,
                Err(error) => self.no_answer(&error),
            };
            let Some(delay) = retry::delay(attempt, failure) else {
                return Err(error);
            };
            tokio::time::sleep(delay).await;
            attempt += 1;
        }
    }

    fn request(&self) -> Request<RequestBody> {
        let mut request = Request::new(self.body.clone());
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    async fn refusal(&self, response: Response<Incoming>) -> (Failure, ModelError) {
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| retry::retry_after(value, Timestamp::now()));
        let idle = self.http.timeouts().idle;
        let body = read_error_body(response.into_body(), idle).await;
        let error = http_error(
            &self.endpoint.provider,
            status,
            retry_after,
            &body,
            self.endpoint.api_key.as_deref(),
        );
        let failure = Failure::Status {
            status,
            retry_after,
        };
        (failure, error)
    }

    fn no_answer(&self, error: &SendError) -> (Failure, ModelError) {
        let failure = match error {
            SendError::Connection(_) => Failure::Connection,
            SendError::Timeout(_) | SendError::Tls(_) | SendError::Other(_) => Failure::Final,
        };
        let url = self.endpoint.shown_url(&self.uri);
        let error = connection_error(&self.endpoint.provider, &url, &error.to_string());
        (failure, error)
    }
}

/// Reads what a refusal says, as far as it arrives in time.
async fn read_error_body(mut body: Incoming, idle: Duration) -> Vec<u8> {
    let mut text = Vec::new();
    while text.len() < MAX_ERROR_BODY {
        let frame = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context));
        match tokio::time::timeout(idle, frame).await {
            Ok(Some(Ok(frame))) => text.extend_from_slice(frame.data_ref().map_or(&[], |d| d)),
            _ => break,
        }
    }
    text
}

/// The stream of one answer.
pub(crate) struct Answer<'a, D> {
    state: State<'a>,
    provider: &'a str,
    idle: Duration,
    decoder: D,
    sse: SseDecoder,
    events: VecDeque<ModelEvent>,
    /// Delivered after the events that came before it.
    failure: Option<ModelError>,
}

enum State<'a> {
    Opening(BoxFuture<'a, Result<Response<Incoming>, ModelError>>),
    Reading(Reading),
    /// The answer is complete; the last event waits for the end of the body, but not for long.
    Ending(Incoming, Pin<Box<Sleep>>),
    Ended,
}

struct Reading {
    body: Incoming,
    last_progress: Instant,
    deadline: Pin<Box<Sleep>>,
    progressed: bool,
}

impl<'a, D: Decoder> Answer<'a, D> {
    /// Prepares a call; `call` is made when the stream is first polled.
    pub(crate) fn new(
        provider: &'a str,
        http: &HttpClient,
        decoder: D,
        call: impl FnOnce() -> Result<Call, ModelError> + Send + 'a,
    ) -> Self {
        Self {
            state: State::Opening(Box::pin(async move { call()?.open().await })),
            provider,
            idle: http.timeouts().idle,
            decoder,
            sse: SseDecoder::new(),
            events: VecDeque::new(),
            failure: None,
        }
    }

    fn poll_reading(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let State::Reading(reading) = &mut self.state else {
            return Poll::Ready(());
        };
        match Pin::new(&mut reading.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                reading.progressed = true;
                if let Some(data) = frame.data_ref() {
                    self.decode(&data.clone());
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
        Poll::Ready(())
    }

    fn decode(&mut self, data: &Bytes) {
        let mut outcome = Ok(Progress::More);
        let (decoder, events) = (&mut self.decoder, &mut self.events);
        let fed = self.sse.feed(data, |event| {
            if matches!(outcome, Ok(Progress::More)) {
                outcome = decoder.event(event, events);
            }
        });
        match (outcome, fed) {
            (Err(error), _) => self.fail(error),
            (Ok(Progress::Done), _) => self.done(),
            (Ok(Progress::More), Err(error)) => self.fail(stream_error(self.provider, error)),
            (Ok(Progress::More), Ok(())) => {}
        }
    }

    fn body_ended(&mut self, cut: Option<&str>) {
        self.state = State::Ended;
        let mut outcome = Ok(Progress::More);
        let (decoder, events) = (&mut self.decoder, &mut self.events);
        if cut.is_none() {
            // What was left in the decoder is bounded already.
            let finished = self.sse.finish(|event| {
                if matches!(outcome, Ok(Progress::More)) {
                    outcome = decoder.event(event, events);
                }
            });
            if let Err(error) = finished {
                return self.fail(stream_error(self.provider, error));
            }
        }
        let outcome = match outcome {
            Ok(Progress::More) => self.decoder.end(cut, &mut self.events),
            Ok(Progress::Done) => Ok(()),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            self.fail(error);
        }
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
    fn new(body: Incoming, idle: Duration) -> Self {
        Self {
            body,
            last_progress: Instant::now(),
            deadline: Box::pin(tokio::time::sleep(idle)),
            progressed: false,
        }
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
            // A complete answer keeps its last event back until its connection is free again.
            let held = usize::from(matches!(this.state, State::Ending(..)));
            if this.events.len() > held
                && let Some(event) = this.events.pop_front()
            {
                return Poll::Ready(Some(Ok(event)));
            }
            match &mut this.state {
                State::Opening(opening) => match ready!(opening.as_mut().poll(context)) {
                    Ok(response) => {
                        this.state = State::Reading(Reading::new(response.into_body(), this.idle));
                        return Poll::Ready(Some(Ok(ModelEvent::Start)));
                    }
                    Err(error) => this.fail(error),
                },
                State::Reading(_) => ready!(this.poll_reading(context)),
                State::Ending(body, grace) => {
                    let more = match Pin::new(body).poll_frame(context) {
                        Poll::Ready(Some(Ok(_))) => true,
                        Poll::Ready(_) => false,
                        Poll::Pending => {
                            ready!(grace.as_mut().poll(context));
                            false
                        }
                    };
                    if !more {
                        this.state = State::Ended;
                    }
                }
                State::Ended => return Poll::Ready(this.failure.take().map(Err)),
            }
        }
    }
}

/// A base URL that no request can be sent to.
pub(crate) fn invalid_endpoint(provider: &str, reason: impl std::fmt::Display) -> ModelError {
    ModelError::new(
        ModelErrorKind::Invalid,
        format!("{provider}: the base URL cannot be used: {reason}"),
    )
}
