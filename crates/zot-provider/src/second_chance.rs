//! A call that is made once more, in another form, when the service says that the first was wrong.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use zot_conversation::{ModelError, ModelEvent, ModelStream};

/// An answer, and what the user should know about how it was asked for.
pub(crate) struct Attempt<'a> {
    pub(crate) answer: ModelStream<'a>,
    pub(crate) notice: Option<String>,
}

/// Makes another attempt of one that was refused; `None` when the refusal stands.
type Again<'a> = Box<dyn FnOnce(&ModelError) -> Option<Attempt<'a>> + Send + 'a>;

/// The stream of the attempt that counts. Nobody is told of the first, because nothing came of it.
pub(crate) struct SecondChance<'a> {
    attempt: Attempt<'a>,
    /// Until the service has accepted an attempt.
    again: Option<Again<'a>>,
    /// Whether the notice is due.
    has_begun: bool,
}

impl<'a> SecondChance<'a> {
    pub(crate) fn new(
        attempt: Attempt<'a>,
        again: impl FnOnce(&ModelError) -> Option<Attempt<'a>> + Send + 'a,
    ) -> Self {
        Self {
            attempt,
            again: Some(Box::new(again)),
            has_begun: false,
        }
    }
}

impl Stream for SecondChance<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.has_begun
            && let Some(notice) = self.attempt.notice.take()
        {
            return Poll::Ready(Some(Ok(ModelEvent::Notice(notice))));
        }
        loop {
            let item = ready!(self.attempt.answer.as_mut().poll_next(context));
            match &item {
                Some(Err(error)) => {
                    let again = self.again.take();
                    if let Some(attempt) = again.and_then(|again| again(error)) {
                        self.attempt = attempt;
                        continue;
                    }
                }
                Some(Ok(ModelEvent::Retrying { .. })) => {}
                Some(Ok(_)) | None => {
                    self.again = None;
                    self.has_begun = true;
                }
            }
            return Poll::Ready(item);
        }
    }
}
