//! The single-threaded executor that all of `zot` runs on.

#[cfg(test)]
mod tests;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Notify;

/// Tells when there is nothing left to do but wait.
///
/// Output is collected while work goes on and written when the executor would go to sleep: a burst
/// of ten thousand deltas costs a few dozen writes, and a single delta is not held back.
#[derive(Clone, Default)]
pub struct IdleSignal(Arc<IdleState>);

#[derive(Default)]
struct IdleState {
    wanted: AtomicBool,
    idle: Notify,
}

impl IdleSignal {
    /// Asks to be told. Only the next idle moment counts.
    pub fn request(&self) {
        self.0.wanted.store(true, Ordering::Relaxed);
    }

    /// Waits for the idle moment that was asked for.
    pub async fn wait(&self) {
        self.0.idle.notified().await;
    }

    fn about_to_sleep(&self) {
        if self.0.wanted.swap(false, Ordering::Relaxed) {
            // Waking a task here makes the executor run it instead of sleeping.
            self.0.idle.notify_one();
        }
    }
}

/// Runs a future to its end on the current thread.
pub fn run<F: Future>(make: impl FnOnce(IdleSignal) -> F) -> io::Result<F::Output> {
    let idle = IdleSignal::default();
    let hook = idle.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || hook.about_to_sleep())
        .build()?;
    let output = runtime.block_on(make(idle));
    // A name lookup that hangs in a thread of its own must not keep the process from ending.
    runtime.shutdown_background();
    Ok(output)
}
