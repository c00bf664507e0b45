//! One model call: sends the request, retries it where that may help, and turns the response into
//! events.
//!
//! Everything runs inside the stream that the caller polls, so dropping it ends the call.

mod decoding;
mod reading;
mod request;
mod response;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use zot_conversation::{ModelError, ModelEvent, Timestamp, ToolCallId};

use crate::sse::SseEvent;
pub(crate) use request::Call;
pub(crate) use response::ResponseStream;

/// How much of the body of a refused request is read; the connection of a longer one is closed.
///
/// Limit: the rest of an error response is not read.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// Turns the events of one wire into the events of a model.
pub(crate) trait Decoder: Send + Unpin {
    /// Decodes one event; returns `Done` when the response is complete.
    fn event(
        &mut self,
        event: SseEvent<'_>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<Progress, ModelError>;

    /// Handles a body that ended, cleanly or not, before the wire's end marker: closes what is open,
    /// or returns why the response is not complete.
    fn end(
        &mut self,
        cut: Option<&str>,
        events: &mut VecDeque<ModelEvent>,
    ) -> Result<(), ModelError>;

    /// Returns how many bytes of the response are buffered here and not yet in any event.
    fn buffered_bytes(&self) -> usize;

    /// Decodes a whole response that was not streamed. Where it has the form of a streamed event,
    /// this default is enough.
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

/// Returns an id for a tool call that the server did not name, unique within the conversation.
pub(crate) fn generated_id() -> ToolCallId {
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let now = Timestamp::now().as_microsecond();
    format!("call_{now:x}_{count}").into()
}

/// Decodes recorded bodies for the tests of each wire.
#[cfg(test)]
pub(crate) mod replay;
