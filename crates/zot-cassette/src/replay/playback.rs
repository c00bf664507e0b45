//! Plays the events of one exchange.

use std::future::Future as _;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};
use zot_conversation::{ModelError, ModelEvent};

use super::{ReplayPace, invalid};
use crate::exchange::{DeltaKind, EventLine, ExchangeLine, Played};

/// How long the replay of an aborted exchange waits to be aborted again. A test that never aborts it
/// should fail with a reason instead of hanging.
///
/// Limit: the replay of an aborted response that nobody aborts fails.
const ABORT_PATIENCE: Duration = Duration::from_secs(10);

/// How many events are replayed before other tasks of the thread may run.
const EVENTS_BETWEEN_YIELDS: usize = 32;

/// An exchange being replayed.
pub(super) struct Playback {
    exchange: usize,
    started: Option<Instant>,
    lines: std::vec::IntoIter<EventLine>,
    /// The line that is due next.
    due: Option<EventLine>,
    deltas: Option<(DeltaKind, std::vec::IntoIter<String>)>,
    duration: Duration,
    ending: Ending,
    wait: Option<Pin<Box<Sleep>>>,
    since_yield: usize,
}

enum Ending {
    Complete,
    Failed(ModelError),
    /// The recorded reader went away before the end.
    Aborted,
}

impl Playback {
    pub(super) fn new(line: ExchangeLine<'_>, failure: Option<ModelError>, aborted: bool) -> Self {
        let ending = match failure {
            Some(error) => Ending::Failed(error),
            None if aborted => Ending::Aborted,
            None => Ending::Complete,
        };
        Self {
            exchange: line.exchange,
            started: None,
            lines: line.events.into_iter(),
            due: None,
            deltas: None,
            duration: Duration::from_millis(line.duration_ms),
            ending,
            wait: None,
            since_yield: 0,
        }
    }

    pub(super) fn exchange(&self) -> usize {
        self.exchange
    }

    /// Polls for the next event. Must not be polled again after an error or the end.
    pub(super) fn poll(
        &mut self,
        pace: ReplayPace,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        if self.since_yield == EVENTS_BETWEEN_YIELDS {
            self.since_yield = 0;
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.since_yield += 1;
        loop {
            if let Some((kind, deltas)) = &mut self.deltas {
                if let Some(delta) = deltas.next() {
                    return Poll::Ready(Some(Ok(kind.event(delta))));
                }
                self.deltas = None;
            }
            let Some(line) = self.due.take().or_else(|| self.lines.next()) else {
                return self.poll_ending(pace, context);
            };
            let at = Duration::from_millis(line.ms);
            if self.poll_due(pace, at, context).is_pending() {
                self.due = Some(line);
                return Poll::Pending;
            }
            match line.play(self.exchange) {
                Ok(Played::One(event)) => return Poll::Ready(Some(Ok(event))),
                Ok(Played::Deltas(kind, deltas)) => self.deltas = Some((kind, deltas)),
                Err(problem) => return Poll::Ready(Some(Err(invalid(problem)))),
            }
        }
    }

    fn poll_ending(
        &mut self,
        pace: ReplayPace,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<ModelEvent, ModelError>>> {
        let duration = self.duration;
        match &self.ending {
            Ending::Complete => {
                ready!(self.poll_due(pace, duration, context));
                Poll::Ready(None)
            }
            Ending::Failed(error) => {
                let error = error.clone();
                ready!(self.poll_due(pace, duration, context));
                Poll::Ready(Some(Err(error)))
            }
            Ending::Aborted => {
                ready!(self.poll_wait(|| Instant::now() + ABORT_PATIENCE, context));
                Poll::Ready(Some(Err(invalid(format!(
                    "exchange {} was aborted when it was recorded and nothing aborts it now: send \
                     the abort again, or record without it",
                    self.exchange
                )))))
            }
        }
    }

    /// Waits until `at` after the request, if the pace requires it.
    fn poll_due(&mut self, pace: ReplayPace, at: Duration, context: &mut Context<'_>) -> Poll<()> {
        if pace == ReplayPace::FullSpeed {
            return Poll::Ready(());
        }
        let started = *self.started.get_or_insert_with(Instant::now);
        if self.wait.is_none() && started.elapsed() >= at {
            return Poll::Ready(());
        }
        self.poll_wait(|| started + at, context)
    }

    fn poll_wait(
        &mut self,
        until: impl FnOnce() -> Instant,
        context: &mut Context<'_>,
    ) -> Poll<()> {
        let wait = self
            .wait
            .get_or_insert_with(|| Box::pin(sleep_until(until())));
        ready!(wait.as_mut().poll(context));
        self.wait = None;
        Poll::Ready(())
    }
}
