//! A way out of the one thread for work that blocks.

use tokio::task::{JoinError, spawn_blocking};

/// Runs work that blocks, such as reading files or computing, on a thread of its own, so that the
/// other handlers go on. A panic in it is one of the handler that waits for it.
///
/// What was started goes on when the handler is stopped, but does not keep the process alive.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match JoinError::try_into_panic(error) {
            Ok(panic) => std::panic::resume_unwind(panic),
            // The runtime is about to go, and the waiting handler with it.
            Err(_) => std::future::pending().await,
        },
    }
}
