//! The events of one prompt or compaction.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;
use zot_conversation::{AgentEvent, BoxFuture};
use zot_wire::rpc::Event;

use crate::convert;
use crate::rescue::Rescue;
use crate::runtime::Occupation;

/// How many events may wait for a reader before the agent does.
pub(crate) const EVENT_QUEUE: usize = 128;

/// How many events are handed out before others get a turn, signals and commands among them: a
/// model that floods must not keep the user from stopping it.
const EVENTS_PER_TURN: u32 = 128;

/// What a stream does, and with it which event is its last.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Prompt,
    /// A compaction that succeeds ends with its summary and no `done`.
    Compaction,
}

/// Events that are told only to who asks for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OnRequest {
    /// What the model thinks, where the provider shows it.
    pub thinking: bool,
    /// Requests that failed and are sent again.
    pub retries: bool,
}

/// The ordered events of one prompt or compaction.
///
/// The stream does the work: nothing happens unless it is polled, and dropping it stops the agent
/// where it is. To stop in good order (children ended, partial text kept, last events told), call
/// [`Runtime::cancel`](crate::Runtime::cancel) and read on to the end.
pub struct EventStream {
    /// Cleared once it has finished.
    work: Option<BoxFuture<'static, ()>>,
    events: mpsc::Receiver<AgentEvent>,
    occupation: Option<Arc<Occupation>>,
    kind: Work,
    rescue: Arc<Rescue>,
    on_request: OnRequest,
    /// Events taken since others had a turn.
    taken: u32,
}

impl EventStream {
    pub(crate) fn new(
        work: BoxFuture<'static, ()>,
        events: mpsc::Receiver<AgentEvent>,
        occupation: Arc<Occupation>,
        kind: Work,
        rescue: Arc<Rescue>,
    ) -> Self {
        Self {
            work: Some(work),
            events,
            occupation: Some(occupation),
            kind,
            rescue,
            on_request: OnRequest::default(),
            taken: 0,
        }
    }

    pub(crate) fn with(mut self, on_request: OnRequest) -> Self {
        self.on_request = on_request;
        self
    }

    /// The next event, or `None` after the last.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// The next event if it has come already; `Some(None)` after the last. Does no work.
    pub fn next_now(&mut self) -> Option<Option<Event>> {
        loop {
            match self.events.try_recv() {
                Ok(event) => {
                    if self.is_last(&event) {
                        self.release();
                    }
                    if self.is_wanted(&event) {
                        return Some(Some(convert::event(event, &self.rescue)));
                    }
                }
                Err(_) if self.work.is_none() => {
                    self.release();
                    return Some(None);
                }
                Err(_) => return None,
            }
        }
    }

    fn is_wanted(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::ThinkingDelta(_) => self.on_request.thinking,
            AgentEvent::Retrying { .. } => self.on_request.retries,
            _ => true,
        }
    }

    fn is_last(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Done => true,
            AgentEvent::CompactionFinished { .. } => self.kind == Work::Compaction,
            _ => false,
        }
    }

    /// A client that has been told the end may start the next prompt at once.
    fn release(&mut self) {
        if let Some(occupation) = self.occupation.take() {
            occupation.end();
        }
    }
}

impl Stream for EventStream {
    type Item = Event;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if self.taken >= EVENTS_PER_TURN {
                self.taken = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Ok(event) = self.events.try_recv() {
                self.taken += 1;
                if self.is_last(&event) {
                    self.release();
                }
                if self.is_wanted(&event) {
                    return Poll::Ready(Some(convert::event(event, &self.rescue)));
                }
                continue;
            }
            let Some(work) = &mut self.work else {
                self.release();
                return Poll::Ready(None);
            };
            let finished = work.as_mut().poll(context).is_ready();
            if finished {
                self.work = None;
            } else if self.events.is_empty() {
                self.taken = 0;
                return Poll::Pending;
            }
        }
    }
}

impl Drop for EventStream {
    fn drop(&mut self) {
        // The work first: whatever it holds is gone before the runtime counts as free.
        self.work = None;
        self.release();
    }
}
