//! The response to a model call, as a stream of events.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Sleep;
use zot_conversation::{BoxFuture, ModelError, ModelEvent};

use super::decoding::Decoding;
use super::reading::Reading;
use super::request::{Call, Sent};
use super::{Decoder, Progress};
use crate::endpoint::Endpoint;
use crate::error::{cause_chain, document_error, stream_error};
use crate::http::{Delivery, HttpClient, ResponseBody};

/// How much is decoded before the stream yields: a server that sends faster than this decodes must
/// not keep the user from stopping it.
const EVENTS_PER_TURN: u32 = 128;
const BYTES_PER_TURN: usize = 256 * 1024;

/// How long a complete response waits for the end of its body, so that the connection can be reused.
///
/// Limit: the connection is not reused.
const END_OF_BODY_GRACE: Duration = Duration::from_millis(50);

/// The events of one response.
pub(crate) struct ResponseStream<'a, D> {
    state: State<'a>,
    idle: Duration,
    decoding: Decoding<'a, D>,
    content_type: Option<String>,
    /// Whether the response is one document.
    whole: bool,
    endpoint: &'a Endpoint,
    /// Delivered after the events that came before it.
    failure: Option<ModelError>,
    /// Events delivered and bytes decoded since the stream last yielded.
    taken_events: u32,
    taken_bytes: usize,
    amend: Option<Amend<'a>>,
}

/// Returns another form of a request that was refused with this error; `None` to report the error.
type Amend<'a> = Box<dyn FnMut(&ModelError) -> Option<Result<Call, ModelError>> + Send + 'a>;

enum State<'a> {
    Sending(BoxFuture<'a, Result<Sent, ModelError>>),
    Reading(Reading),
    /// The response is complete; its last event waits for the end of the body, but not for long.
    Ending(ResponseBody, Pin<Box<Sleep>>),
    Ended,
}

impl<'a, D: Decoder> ResponseStream<'a, D> {
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
            state: State::Sending(Box::pin(async move { call()?.send(0).await })),
            idle,
            decoding: Decoding::new(&endpoint.provider, decoder, document),
            content_type: None,
            whole: false,
            endpoint,
            failure: None,
            taken_events: 0,
            taken_bytes: 0,
            amend: None,
        }
    }

    /// Asks `amend` for another form of a request that was refused, which is sent at once and
    /// without a retry event.
    pub(crate) fn amending(
        mut self,
        amend: impl FnMut(&ModelError) -> Option<Result<Call, ModelError>> + Send + 'a,
    ) -> Self {
        self.amend = Some(Box::new(amend));
        self
    }

    /// Advances by one attempt or one piece of the body.
    fn poll_step(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Sending(sending) => {
                let sent = ready!(sending.as_mut().poll(context));
                self.sent(sent);
            }
            State::Reading(_) => ready!(self.poll_reading(context)),
            State::Ending(body, grace) => {
                // The clock comes first: an endless body uses up the task's budget.
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

    fn sent(&mut self, sent: Result<Sent, ModelError>) {
        match sent {
            Ok(Sent::Retry {
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
                self.state = State::Sending(Box::pin(async move {
                    tokio::time::sleep(wait).await;
                    call.send(failures).await
                }));
            }
            Ok(Sent::Accepted(response)) => {
                self.content_type = response.content_type;
                // Some servers stream whatever they are asked for.
                if self.is_content("text/event-stream") {
                    self.decoding.document = None;
                }
                self.whole = self.decoding.document.is_some();
                self.decoding.events.push_back(ModelEvent::Start);
                self.state = State::Reading(Reading::new(response.body, self.idle));
            }
            Err(error) => match self.amend.as_mut().and_then(|amend| amend(&error)) {
                Some(Ok(call)) => self.state = State::Sending(Box::pin(call.send(0))),
                Some(Err(error)) => self.fail(error),
                None => self.fail(error),
            },
        }
    }

    fn poll_reading(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let State::Reading(reading) = &mut self.state else {
            return Poll::Ready(());
        };
        let decoding = &mut self.decoding;
        let taken = &mut self.taken_bytes;
        let polled = reading.body.poll_data(context, |data| {
            *taken += data.len();
            decoding.feed(data);
        });
        match polled {
            Poll::Ready(Some(Ok(()))) => {
                reading.progressed = true;
                match reading.exceeded_limit(decoding.take_has_content()) {
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

    /// Returns the error for a page or document that came instead of an event stream: it explains
    /// more than the missing end marker does.
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
        let is_wrong_type = !self.is_content(expected);
        is_wrong_type.then(|| {
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

impl<D: Decoder> Stream for ResponseStream<'_, D> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if this.taken_events >= EVENTS_PER_TURN || this.taken_bytes >= BYTES_PER_TURN {
                (this.taken_events, this.taken_bytes) = (0, 0);
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            // A complete response keeps its last event back until its connection is free again.
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
