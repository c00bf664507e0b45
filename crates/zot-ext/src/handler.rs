//! Handlers as the server keeps them, and how they are run without being trusted.

use std::any::Any;
use std::fmt::Display;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use crate::Context;

/// A handler that waits to be called.
pub(crate) type Handler<A, T> = Arc<dyn Fn(A, Context) -> Pending<T> + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = T>>>;

/// What came of a handler that has nothing to answer.
pub(crate) type Outcome = Result<(), String>;

/// What a handler may return when nobody waits for an answer. An error is logged.
pub trait IntoOutcome {
    fn into_outcome(self) -> Result<(), String>;
}

impl IntoOutcome for () {
    fn into_outcome(self) -> Outcome {
        Ok(())
    }
}

impl<E: Display> IntoOutcome for Result<(), E> {
    fn into_outcome(self) -> Outcome {
        self.map_err(failed)
    }
}

/// Erases the type of a handler; `convert` makes the answer of what it returns.
pub(crate) fn erase<A, R, T>(
    handler: impl AsyncFn(A, Context) -> R + Send + Sync + 'static,
    convert: fn(R) -> T,
) -> Handler<A, T>
where
    A: 'static,
    R: 'static,
    T: 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |argument, context| {
        let handler = Arc::clone(&handler);
        Box::pin(async move { convert(handler(argument, context).await) })
    })
}

/// Runs `handler`; a panic becomes an error that says what it said.
pub(crate) async fn guarded<T>(handler: impl Future<Output = T>) -> Result<T, String> {
    let mut handler = pin!(handler);
    // After a panic the future is dropped and never polled again, so nothing sees it broken.
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(format!("panicked: {}", panic_message(&*panic)))),
        },
    )
    .await
}

/// What is logged of an error, after the name of its handler.
pub(crate) fn failed(error: impl Display) -> String {
    format!("failed: {}", describe(error))
}

/// The text of an error, with its causes where its type writes them in the alternate form.
pub(crate) fn describe(error: impl Display) -> String {
    format!("{error:#}")
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    if let Some(message) = panic.downcast_ref::<&str>() {
        message
    } else if let Some(message) = panic.downcast_ref::<String>() {
        message
    } else {
        "no message"
    }
}
