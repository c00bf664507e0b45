//! A model that records the requests and responses of another.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use zot_conversation::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, ToolImages,
};

use super::exchange::{Ending, milliseconds};
use super::recorder::Recorder;
use super::tape::Tape;

/// Forwards everything to another model and records it.
///
/// An exchange is written when its stream ends or is dropped. A call that cannot be recorded fails:
/// a cassette with a gap would replay something that never happened.
pub struct RecordingModel {
    inner: Arc<dyn Model>,
    recorder: Arc<Recorder>,
    /// The provider of a backup model; `None` for the first model.
    fallback: Option<String>,
}

impl RecordingModel {
    /// Records the model that the header of the cassette names.
    pub fn new(inner: Arc<dyn Model>, recorder: Arc<Recorder>) -> Self {
        Self {
            inner,
            recorder,
            fallback: None,
        }
    }

    /// Records one of the header's backup models to the same cassette.
    pub fn fallback(inner: Arc<dyn Model>, recorder: Arc<Recorder>, provider: &str) -> Self {
        Self {
            inner,
            recorder,
            fallback: Some(provider.to_owned()),
        }
    }
}

impl Model for RecordingModel {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        Box::pin(RecordingStream {
            inner: self.inner.stream(request),
            recorder: &self.recorder,
            fallback: self.fallback.as_deref(),
            request,
            tape: Tape::default(),
            state: StreamState::Untouched,
        })
    }

    fn tool_images(&self) -> ToolImages {
        self.inner.tool_images()
    }
}

struct RecordingStream<'a> {
    inner: ModelStream<'a>,
    recorder: &'a Recorder,
    fallback: Option<&'a str>,
    request: ModelRequest<'a>,
    tape: Tape,
    state: StreamState,
}

#[derive(Clone, Copy)]
enum StreamState {
    /// Not polled yet, so nothing has been sent.
    Untouched,
    Running(Clock),
    Ended,
}

/// When the current event arrived.
#[derive(Clone, Copy)]
struct Clock {
    started: Instant,
    ms: u64,
    /// Whether the stream has waited since `ms` was read. Events that came without waiting share a
    /// time, so a fast stream does not pay for reading the clock.
    waited: bool,
}

impl Clock {
    fn ms(&mut self) -> u64 {
        if self.waited {
            self.waited = false;
            self.ms = milliseconds(self.started.elapsed());
        }
        self.ms
    }
}

impl RecordingStream<'_> {
    fn finish(&mut self, ending: Ending<'_>) -> Result<(), ModelError> {
        let StreamState::Running(clock) = self.state else {
            return Ok(());
        };
        self.state = StreamState::Ended;
        let duration = milliseconds(clock.started.elapsed());
        self.recorder
            .append(
                self.fallback,
                &self.request,
                &mut self.tape,
                ending,
                duration,
            )
            .map_err(not_recorded)
    }
}

fn not_recorded(failure: String) -> ModelError {
    ModelError::new(ModelErrorKind::Invalid, failure)
}

impl Stream for RecordingStream<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        let mut clock = match this.state {
            StreamState::Running(clock) => clock,
            StreamState::Ended => return Poll::Ready(None),
            StreamState::Untouched => {
                if let Some(failure) = this.recorder.failure() {
                    this.state = StreamState::Ended;
                    return Poll::Ready(Some(Err(not_recorded(failure))));
                }
                Clock {
                    started: Instant::now(),
                    ms: 0,
                    waited: false,
                }
            }
        };
        let polled = this.inner.as_mut().poll_next(context);
        match &polled {
            Poll::Pending => clock.waited = true,
            Poll::Ready(Some(Ok(event))) => this.tape.push(clock.ms(), event),
            Poll::Ready(Some(Err(_)) | None) => {}
        }
        this.state = StreamState::Running(clock);
        match polled {
            Poll::Ready(Some(Err(error))) => {
                // The provider's error matters more; the next call reports the cassette's.
                let _ = this.finish(Ending::Failed(&error));
                Poll::Ready(Some(Err(error)))
            }
            Poll::Ready(None) => Poll::Ready(this.finish(Ending::Complete).err().map(Err)),
            event => event,
        }
    }
}

impl Drop for RecordingStream<'_> {
    fn drop(&mut self) {
        // A failure is remembered and reported by the next call.
        let _ = self.finish(Ending::Aborted);
    }
}
