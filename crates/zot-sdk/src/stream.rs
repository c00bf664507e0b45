//! The events of one prompt or compaction.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;
use tokio::sync::mpsc;
use zot_conversation::{AgentEvent, BoxFuture};

use crate::alternatives::ProviderAlternatives;
use crate::runtime::Occupation;

/// How many events are buffered for the reader.
///
/// Limit: the agent waits for the reader.
pub(crate) const EVENT_QUEUE_LENGTH: usize = 128;

/// How many events are returned before other tasks run, such as those for signals and commands: a
/// flooding model must not keep the user from stopping it.
const EVENTS_PER_TURN: u32 = 128;

/// The work of a stream, which determines the last event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    Prompt,
    /// A compaction that succeeds ends with its summary and no `done`.
    Compaction,
}

/// The ordered events of one prompt or compaction.
///
/// The stream does the work: nothing happens unless it is polled, and dropping it stops the agent
/// where it is. To stop in an orderly way (children ended, partial text kept, last events reported),
/// call [`Runtime::cancel`](crate::Runtime::cancel) and read to the end.
pub struct EventStream {
    /// Cleared once it has finished.
    work: Option<BoxFuture<'static, ()>>,
    events: mpsc::Receiver<AgentEvent>,
    occupation: Option<Arc<Occupation>>,
    kind: Work,
    alternatives: Arc<ProviderAlternatives>,
    /// Events returned since other tasks could run.
    taken: u32,
}

impl EventStream {
    pub(crate) fn new(
        work: BoxFuture<'static, ()>,
        events: mpsc::Receiver<AgentEvent>,
        occupation: Arc<Occupation>,
        kind: Work,
        alternatives: Arc<ProviderAlternatives>,
    ) -> Self {
        Self {
            work: Some(work),
            events,
            occupation: Some(occupation),
            kind,
            alternatives,
            taken: 0,
        }
    }

    /// Returns the next event, or `None` after the last.
    pub async fn next(&mut self) -> Option<AgentEvent> {
        std::future::poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Returns the next event if it is available; `Some(None)` after the last. Does no work.
    pub fn next_now(&mut self) -> Option<Option<AgentEvent>> {
        match self.events.try_recv() {
            Ok(event) => Some(Some(self.delivered(event))),
            Err(_) if self.work.is_none() => {
                self.release();
                Some(None)
            }
            Err(_) => None,
        }
    }

    /// Prepares an event for the reader.
    fn delivered(&mut self, mut event: AgentEvent) -> AgentEvent {
        if self.is_last(&event) {
            self.release();
        }
        if let AgentEvent::Failed(report) = &mut event {
            report.alternatives = self.alternatives.to(report);
        }
        event
    }

    fn is_last(&self, event: &AgentEvent) -> bool {
        match event {
            AgentEvent::Done => true,
            AgentEvent::CompactionFinished { .. } => self.kind == Work::Compaction,
            _ => false,
        }
    }

    /// Frees the runtime: after the last event the client may start the next prompt.
    fn release(&mut self) {
        if let Some(occupation) = self.occupation.take() {
            occupation.end();
        }
    }
}

impl Stream for EventStream {
    type Item = AgentEvent;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<AgentEvent>> {
        loop {
            if self.taken >= EVENTS_PER_TURN {
                self.taken = 0;
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            if let Ok(event) = self.events.try_recv() {
                self.taken += 1;
                return Poll::Ready(Some(self.delivered(event)));
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
        // The work first: everything it holds is released before the runtime counts as free.
        self.work = None;
        self.release();
    }
}
