//! Type-erased handlers, and running them without letting a panic through.

use std::any::Any;
use std::fmt::Display;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use crate::Context;

/// A type-erased handler.
pub(crate) type Handler<A, T> = Arc<dyn Fn(A, Context) -> Pending<T> + Send + Sync>;
type Pending<T> = Pin<Box<dyn Future<Output = T>>>;

/// The result of a handler without a response.
pub(crate) type Outcome = Result<(), String>;

/// What a handler without a response may return. An error is logged.
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

/// Erases the type of a handler; `convert` turns what it returns into a response.
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

/// Runs `handler`; a panic becomes an error with its message.
pub(crate) async fn guarded<T>(handler: impl Future<Output = T>) -> Result<T, String> {
    let mut handler = pin!(handler);
    // After a panic the future is dropped and never polled again, so its state does not matter.
    poll_fn(
        |context| match catch_unwind(AssertUnwindSafe(|| handler.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
            Err(panic) => Poll::Ready(Err(format!("panicked: {}", panic_message(&*panic)))),
        },
    )
    .await
}

/// Returns the log text of an error, to follow the name of its handler.
pub(crate) fn failed(error: impl Display) -> String {
    format!("failed: {}", describe(error))
}

/// Returns the text of an error, with its causes if its type prints them in the alternate form.
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
