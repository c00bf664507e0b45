//! The model, and the stream that cuts its response into pieces.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use zot_conversation::{
    Model, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, ToolCallId,
};

use crate::reply::Reply;
use crate::{estimate, reply};

/// The size of the deltas that arguments arrive in.
const ARGUMENT_PIECE_CHARACTERS: usize = 16;

/// The number of events after which the stream lets other tasks of the thread run.
const EVENTS_BETWEEN_YIELDS: usize = 32;

/// The model `offline` of the provider `offline`.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfflineModel;

impl OfflineModel {
    /// The name of both the provider and its only model.
    pub const NAME: &'static str = "offline";
}

impl Model for OfflineModel {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        Box::pin(OfflineStream {
            events: events(&request, reply::reply(&request)),
            since_yield: 0,
        })
    }
}

struct OfflineStream {
    events: VecDeque<ModelEvent>,
    since_yield: usize,
}

impl Stream for OfflineStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.since_yield == EVENTS_BETWEEN_YIELDS {
            self.since_yield = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.since_yield += 1;
        Poll::Ready(self.events.pop_front().map(Ok))
    }
}

/// Returns the events of a whole response, from `Start` to `Stop`.
fn events(request: &ModelRequest<'_>, reply: Reply) -> VecDeque<ModelEvent> {
    let usage = estimate::usage(request, &reply);
    let stop = if reply.calls.is_empty() {
        StopReason::End
    } else {
        StopReason::ToolUse
    };
    let mut events = VecDeque::from([ModelEvent::Start]);
    let words = reply.text.split_inclusive(char::is_whitespace);
    events.extend(words.map(|word| ModelEvent::TextDelta(word.to_owned())));
    for call in reply.calls {
        let id = ToolCallId::from(call.id);
        events.push_back(ModelEvent::ToolCallStart {
            id: id.clone(),
            name: call.name,
        });
        let characters: Vec<char> = call.arguments.chars().collect();
        for piece in characters.chunks(ARGUMENT_PIECE_CHARACTERS) {
            events.push_back(ModelEvent::ToolCallArguments {
                id: id.clone(),
                delta: piece.iter().collect(),
            });
        }
        events.push_back(ModelEvent::ToolCallEnd { id });
    }
    events.push_back(ModelEvent::Usage(usage));
    events.push_back(ModelEvent::Stop(stop));
    events
}
