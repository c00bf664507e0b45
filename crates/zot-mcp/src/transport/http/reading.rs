//! Reads responses: whole, or as events.

use std::collections::VecDeque;
use std::future::{Future as _, poll_fn};
use std::sync::PoisonError;
use std::task::Poll;
use std::time::Duration;

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};
use zot_provider::ExchangeResponse;
use zot_provider::sse::{SseDecoder, SseError};

use super::{HttpTransport, listening};
use crate::json_rpc::{Incoming, RequestId, decode_batch};
use crate::transport::CallError;

/// The largest message that is not an event; events have the limit of the decoder, which is the same.
///
/// Limit: the call fails.
const MAX_HTTP_MESSAGE_BYTES: usize = 8 * 1024 * 1024;

/// What is read of a response that is an error.
///
/// Limit: the rest of the error is not shown.
pub(crate) const MAX_ERROR_BYTES: usize = 64 * 1024;

/// How often a broken response is asked for again without getting any event of it.
///
/// Limit: the call fails.
const MAX_FRUITLESS_RESUMPTIONS: usize = 5;

/// How long a stream may take to end after its response.
///
/// Limit: the connection is closed.
const STREAM_END_TIME: Duration = Duration::from_secs(1);

/// How many streams may be about to end.
///
/// Limit: the connection is closed.
const MAX_ENDING_STREAMS: usize = 16;

/// What a response holds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Json,
    Events,
    Other(String),
}

impl Content {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let value = headers.get(CONTENT_TYPE);
        let value = value.and_then(|value| value.to_str().ok());
        let kind = value.unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        match kind.to_ascii_lowercase().as_str() {
            "application/json" => Self::Json,
            "text/event-stream" => Self::Events,
            _ => Self::Other(kind.to_owned()),
        }
    }
}

/// An event with data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) name: Vec<u8>,
    pub(crate) data: Vec<u8>,
}

/// The events of a response.
pub(crate) struct Events {
    response: ExchangeResponse,
    decoder: SseDecoder,
    /// What one piece of the response held; the size of pieces bounds it.
    ready: VecDeque<Event>,
}

impl Events {
    pub(crate) fn new(response: ExchangeResponse) -> Self {
        Self {
            response,
            decoder: SseDecoder::new(),
            ready: VecDeque::new(),
        }
    }

    /// Returns the next event with data; `None` at the end of the stream, be it orderly or not: the last
    /// event tells whether anything is missing. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Result<Event, SseError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            let (decoder, ready) = (&mut self.decoder, &mut self.ready);
            let mut failure = None;
            let piece = self
                .response
                .next(|data| {
                    let fed = decoder.feed(data, |event| {
                        // Events without data announce ids.
                        if !event.data.is_empty() {
                            ready.push_back(Event {
                                name: event.name.to_vec(),
                                data: event.data.to_vec(),
                            });
                        }
                    });
                    failure = failure.or(fed.err());
                })
                .await;
            if let Some(error) = failure {
                return Some(Err(error));
            }
            match piece {
                Some(Ok(())) => {}
                None | Some(Err(_)) => return None,
            }
        }
    }

    /// Reads to the end, so that the connection can be used again.
    async fn drain(mut self) {
        while let Some(Ok(_)) = self.next().await {}
    }

    pub(crate) fn decoder(&self) -> &SseDecoder {
        &self.decoder
    }
}

/// Reads the first `limit` bytes of a response.
pub(crate) async fn read_at_most(
    mut response: ExchangeResponse,
    limit: usize,
) -> Result<Vec<u8>, CallError> {
    let mut bytes = Vec::new();
    while bytes.len() < limit {
        match response.next(|data| bytes.extend_from_slice(data)).await {
            Some(Ok(())) => {}
            None => break,
            Some(Err(error)) => return Err(CallError::Disconnected(error.to_string())),
        }
    }
    bytes.truncate(limit);
    Ok(bytes)
}

impl HttpTransport {
    /// Reads the response to the request `id`, and passes on what else comes with it.
    pub(super) async fn response_to(
        &self,
        id: &RequestId,
        response: ExchangeResponse,
    ) -> Result<Box<RawValue>, CallError> {
        if !(200..=299).contains(&response.status) {
            return Err(self.shared.refusal(response).await);
        }
        match Content::of(&response.headers) {
            Content::Json => {
                let bytes = read_at_most(response, MAX_HTTP_MESSAGE_BYTES + 1).await?;
                if bytes.len() > MAX_HTTP_MESSAGE_BYTES {
                    return Err(CallError::Invalid(format!(
                        "the response is larger than {MAX_HTTP_MESSAGE_BYTES} bytes (MAX_HTTP_MESSAGE_BYTES)"
                    )));
                }
                match self.take_response(id, &bytes)? {
                    Some(result) => result,
                    None => Err(CallError::Invalid(
                        "the response belongs to another request".to_owned(),
                    )),
                }
            }
            Content::Events => self.response_in_events(id, response).await,
            Content::Other(kind) => Err(CallError::Invalid(format!(
                "expected JSON or a stream of events, got {}",
                match kind.as_str() {
                    "" => "a response without a content type",
                    kind => kind,
                }
            ))),
        }
    }

    async fn response_in_events(
        &self,
        id: &RequestId,
        response: ExchangeResponse,
    ) -> Result<Box<RawValue>, CallError> {
        let mut events = Events::new(response);
        let mut last_id = None;
        let mut fruitless = 0;
        loop {
            while let Some(event) = events.next().await {
                let event = event.map_err(|error| CallError::Invalid(error.to_string()))?;
                fruitless = 0;
                if let Some(result) = self.take_response(id, &event.data)? {
                    self.let_end(events).await;
                    return result;
                }
            }
            let broken = || CallError::Disconnected("the stream ended before the response".into());
            last_id = events.decoder().last_id().map(<[u8]>::to_vec).or(last_id);
            if last_id.is_none() || self.shared.is_modern() {
                return Err(broken());
            }
            let mut pause = listening::pause(events.decoder().retry_milliseconds());
            events = loop {
                fruitless += 1;
                if fruitless > MAX_FRUITLESS_RESUMPTIONS {
                    return Err(broken());
                }
                sleep(pause).await;
                match self.shared.open_stream(last_id.as_deref()).await {
                    Ok(response) if response.status == 200 => break Events::new(response),
                    Ok(response) => {
                        return Err(match self.shared.refusal(response).await {
                            // The request was accepted and may have run: it must not be sent again.
                            CallError::SessionLost => broken(),
                            refusal => refusal,
                        });
                    }
                    Err(CallError::Disconnected(_)) => pause *= 2,
                    Err(error) => return Err(error),
                }
            };
        }
    }

    /// Waits in the background for the end of a stream that has brought its response: it is usually near, and a
    /// connection that is closed before has to be opened again.
    async fn let_end(&self, events: Events) {
        let mut ending = Box::pin(timeout(STREAM_END_TIME, events.drain()));
        let has_ended =
            poll_fn(|context| Poll::Ready(ending.as_mut().poll(context).is_ready())).await;
        let mut tasks = self.ending.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        if !has_ended && tasks.len() < MAX_ENDING_STREAMS {
            tasks.spawn(async move { drop(ending.await) });
        }
    }

    /// Returns the result for `id` if `bytes` hold it, and passes on everything else.
    fn take_response(
        &self,
        id: &RequestId,
        bytes: &[u8],
    ) -> Result<Option<Result<Box<RawValue>, CallError>>, CallError> {
        let mut found = None;
        let mut nameless = None;
        let mut unreadable = None;
        for message in decode_batch(bytes) {
            match message {
                Ok(Incoming::Response { id: own, result }) if own == *id => {
                    found = Some(result.map_err(CallError::Refused));
                }
                // It came in answer to this request, so it is about this one.
                Ok(Incoming::Refusal(error)) => nameless = Some(Err(CallError::Refused(error))),
                Ok(other) => self.answering.take(&self.shared, other),
                Err(error) => unreadable = Some(CallError::Invalid(error.to_string())),
            }
        }
        match (found.or(nameless), unreadable) {
            // It may have been the response.
            (None, Some(error)) => Err(error),
            (found, _) => Ok(found),
        }
    }
}
