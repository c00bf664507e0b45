//! The response of a model in the Hermes dialect as it arrives.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use zot_conversation::{BoxFuture, ModelError, ModelEvent, ModelRequest};

use super::HermesModel;
use super::translation::Translation;

type Received = Result<ModelEvent, ModelError>;

/// A translated response. Dropping it drops the wrapped one.
pub(crate) struct HermesStream<'a> {
    /// Calls the wrapped model; each poll puts at most one event into `slot`. It owns the rewritten
    /// request, which the wrapped stream borrows. `None` once the response has ended.
    call: Option<BoxFuture<'a, ()>>,
    slot: Slot,
    /// `None` when there are no tools to call.
    translation: Option<Translation<'a>>,
    failure: Option<ModelError>,
}

/// How events come out of the call.
#[derive(Clone, Default)]
struct Slot(Arc<Mutex<Option<Received>>>);

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Option<Received>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> HermesStream<'a> {
    pub(crate) fn new(model: &'a HermesModel, request: ModelRequest<'a>) -> Self {
        let slot = Slot::default();
        let translation = (!request.tools.is_empty()).then(|| Translation::new(&model.ids));
        Self {
            call: Some(Box::pin(call(model, request, slot.clone()))),
            slot,
            translation,
            failure: None,
        }
    }
}

async fn call(model: &HermesModel, request: ModelRequest<'_>, slot: Slot) {
    let rewritten = model.rewrite(&request);
    let mut stream = model.inner.stream(ModelRequest {
        system: &rewritten.system,
        messages: rewritten.messages.messages(),
        tools: &[],
        ..request
    });
    poll_fn(|context| match stream.as_mut().poll_next(context) {
        Poll::Ready(Some(received)) => {
            *slot.lock() = Some(received);
            // The poller looks into the slot next, so there is no one to wake.
            Poll::Pending
        }
        Poll::Ready(None) => Poll::Ready(()),
        Poll::Pending => Poll::Pending,
    })
    .await;
}

/// Polls for the next event of the wrapped model; `None` at its end.
fn poll_call(
    call: &mut Option<BoxFuture<'_, ()>>,
    slot: &Slot,
    context: &mut Context<'_>,
) -> Poll<Option<Received>> {
    let Some(running) = call else {
        return Poll::Ready(None);
    };
    if running.as_mut().poll(context).is_ready() {
        *call = None;
        return Poll::Ready(None);
    }
    match slot.lock().take() {
        Some(received) => Poll::Ready(Some(received)),
        None => Poll::Pending,
    }
}

impl Stream for HermesStream<'_> {
    type Item = Received;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Received>> {
        let Self {
            call,
            slot,
            translation,
            failure,
        } = self.get_mut();
        let Some(translation) = translation else {
            return poll_call(call, slot, context);
        };
        loop {
            if let Some(event) = translation.next() {
                return Poll::Ready(Some(Ok(event)));
            }
            if let Some(failure) = failure.take() {
                return Poll::Ready(Some(Err(failure)));
            }
            if call.is_none() {
                return Poll::Ready(None);
            }
            match ready!(poll_call(call, slot, context)) {
                Some(Ok(event)) => translation.apply(event),
                Some(Err(error)) => {
                    translation.break_off();
                    *failure = Some(error);
                    *call = None;
                }
                None => translation.break_off(),
            }
        }
    }
}
