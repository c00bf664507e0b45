//! The single-threaded executor that all of `zot` runs on.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Signals that the executor has nothing left to do but wait.
///
/// Output is collected while tasks run and written when the executor would go to sleep: a burst
/// of ten thousand deltas costs a few dozen writes, and a single delta is not held back.
#[derive(Clone, Default)]
pub struct IdleSignal(Arc<IdleState>);

#[derive(Default)]
struct IdleState {
    requested: AtomicBool,
    idle: Notify,
}

impl IdleSignal {
    /// Requests a signal at the next idle moment.
    pub fn request(&self) {
        self.0.requested.store(true, Ordering::Relaxed);
    }

    /// Waits for the idle moment that was requested.
    pub async fn wait(&self) {
        self.0.idle.notified().await;
    }

    fn about_to_sleep(&self) {
        if self.0.requested.swap(false, Ordering::Relaxed) {
            // Waking a task here makes the executor run it instead of sleeping.
            self.0.idle.notify_one();
        }
    }
}

/// Runs a future to completion on the current thread.
pub fn run<F: Future>(make: impl FnOnce(IdleSignal) -> F) -> io::Result<F::Output> {
    let idle = IdleSignal::default();
    let hook = idle.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || hook.about_to_sleep())
        .build()?;
    let output = runtime.block_on(make(idle));
    // A name lookup that hangs in its own thread must not keep the process from ending.
    runtime.shutdown_background();
    Ok(output)
}
