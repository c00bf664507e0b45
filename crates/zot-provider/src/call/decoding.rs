//! From the bytes of a response to events, within limits.

use std::collections::VecDeque;

use zot_conversation::{ModelError, ModelEvent, ResponseSize};

use super::{Decoder, MAX_ERROR_BODY_BYTES, Progress};
use crate::error::stream_error;
use crate::sse::{SseDecoder, SseError};

/// The most bytes of a response that is read as one document.
///
/// Limit: a response that is not streamed is an error.
const MAX_UNSTREAMED_RESPONSE_BYTES: usize = 64 * 1024 * 1024;

/// The most bytes of a streamed response, framing included: several times what wires put around
/// every token of the longest response a model can give.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_STREAM_BYTES: u64 = 256 * 1024 * 1024;

/// The most events of a streamed response, keep-alives included.
///
/// Limit: error that names the limit; the text received so far is kept.
const MAX_STREAM_EVENTS: u64 = 1_000_000;

/// How much framing an event may have before all of it counts as content.
///
/// Limit: a longer event that carries little counts by its length.
const FREE_EVENT_BYTES: usize = 1024;

pub(super) struct Decoding<'a, D> {
    pub(super) provider: &'a str,
    decoder: D,
    sse: SseDecoder,
    pub(super) events: VecDeque<ModelEvent>,
    pub(super) outcome: Result<Progress, ModelError>,
    /// Whether the body had any event at all, of whatever meaning.
    pub(super) is_event_stream: bool,
    /// The response so far, where it is not streamed.
    pub(super) document: Option<Vec<u8>>,
    /// The beginning of a body that has had no event so far.
    pub(super) beginning: Vec<u8>,
    measure: Measure,
}

impl<'a, D: Decoder> Decoding<'a, D> {
    pub(super) fn new(provider: &'a str, decoder: D, document: Option<Vec<u8>>) -> Self {
        Self {
            provider,
            decoder,
            sse: SseDecoder::new(),
            events: VecDeque::new(),
            outcome: Ok(Progress::More),
            is_event_stream: false,
            document,
            beginning: Vec::new(),
            measure: Measure::default(),
        }
    }

    pub(super) fn feed(&mut self, data: &[u8]) {
        if let Some(document) = &mut self.document {
            if document.len() + data.len() > MAX_UNSTREAMED_RESPONSE_BYTES {
                let cause =
                    format!("the response is longer than {MAX_UNSTREAMED_RESPONSE_BYTES} bytes");
                self.outcome = Err(stream_error(self.provider, cause));
            } else {
                document.extend_from_slice(data);
            }
            return;
        }
        if let Err(limit) = self.measure.add_bytes(data.len()) {
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
                let decoded = events.iter().skip(before);
                let buffered = decoder.buffered_bytes();
                if let Err(limit) = measure.add_event(event.data.len(), buffered, decoded) {
                    // Earlier events are still delivered.
                    events.truncate(before);
                    *outcome = Err(stream_error(provider, limit));
                }
            }
        });
        self.check(fed);
    }

    pub(super) fn end(&mut self, cut: Option<&str>) -> Result<(), ModelError> {
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

    /// Returns whether content arrived since the last call.
    pub(super) fn take_has_content(&mut self) -> bool {
        std::mem::take(&mut self.measure.has_content)
    }

    /// Decodes the body as a JSON document if it is one: some servers send it whole although they
    /// are asked for a stream.
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

/// How much of a streamed response has arrived.
#[derive(Default)]
struct Measure {
    bytes: u64,
    events: u64,
    size: ResponseSize,
    /// The bytes that the decoder had buffered after the last event.
    buffered: usize,
    /// Whether content arrived since [`Decoding::take_has_content`] was last called.
    has_content: bool,
}

impl Measure {
    /// Counts a piece of the body.
    fn add_bytes(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes += bytes as u64;
        match self.bytes > MAX_STREAM_BYTES {
            true => Err(format!(
                "the response takes more than {MAX_STREAM_BYTES} bytes (MAX_STREAM_BYTES): the \
                 server does not stop; nothing more is read of it"
            )),
            false => Ok(()),
        }
    }

    /// Counts an event of `bytes`, which became the `decoded` events and left `buffered` bytes in the
    /// decoder. A long event that carries little counts by its length.
    fn add_event<'a>(
        &mut self,
        bytes: usize,
        buffered: usize,
        decoded: impl Iterator<Item = &'a ModelEvent>,
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
        for event in decoded {
            self.has_content = true;
            counted = counted.and_then(|()| self.size.add(event));
        }
        let content = self.size.bytes() - before;
        let hidden = match bytes > content + FREE_EVENT_BYTES {
            true => bytes - content,
            false => buffered.saturating_sub(self.buffered),
        };
        self.buffered = buffered;
        counted = counted.and_then(|()| self.size.add_bytes(hidden));
        counted.map_err(|limit| limit.to_string())
    }
}
