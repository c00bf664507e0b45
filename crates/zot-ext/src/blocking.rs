//! Runs blocking work outside of the handlers' thread.

use tokio::task::{JoinError, spawn_blocking};

/// Runs blocking work, such as reading files or computing, on its own thread, so that other handlers
/// can continue. A panic in it is passed on to the handler that waits for it.
///
/// The work continues when the handler is stopped, but does not keep the process alive.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match JoinError::try_into_panic(error) {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is shutting down, and the waiting handler with it.
            Err(_) => std::future::pending().await,
        },
    }
}
