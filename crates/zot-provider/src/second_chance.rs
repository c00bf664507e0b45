//! A call that is repeated in another form if the service refuses the first one.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use zot_conversation::{ModelError, ModelEvent, ModelStream};

/// Returns another attempt after a refused one; `None` to report the refusal.
type Again<'a> = Box<dyn FnOnce(&ModelError) -> Option<ModelStream<'a>> + Send + 'a>;

/// The stream of the final attempt. A refused first attempt is not reported.
pub(crate) struct SecondChance<'a> {
    response: ModelStream<'a>,
    /// Present until the service has accepted an attempt.
    again: Option<Again<'a>>,
}

impl<'a> SecondChance<'a> {
    pub(crate) fn new(
        response: ModelStream<'a>,
        again: impl FnOnce(&ModelError) -> Option<ModelStream<'a>> + Send + 'a,
    ) -> Self {
        Self {
            response,
            again: Some(Box::new(again)),
        }
    }
}

impl Stream for SecondChance<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let item = ready!(self.response.as_mut().poll_next(context));
            match &item {
                Some(Err(error)) => {
                    let again = self.again.take();
                    if let Some(response) = again.and_then(|again| again(error)) {
                        self.response = response;
                        continue;
                    }
                }
                Some(Ok(ModelEvent::Retrying { .. })) => {}
                Some(Ok(_)) | None => self.again = None,
            }
            return Poll::Ready(item);
        }
    }
}
