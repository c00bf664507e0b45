//! A point in a script that tells when it is reached and waits to be let through.

use std::sync::Arc;

use tokio::sync::Semaphore;

#[derive(Clone)]
pub(crate) struct Gate {
    reached: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl Default for Gate {
    fn default() -> Self {
        Self {
            reached: Arc::new(Semaphore::new(0)),
            open: Arc::new(Semaphore::new(0)),
        }
    }
}

impl Gate {
    /// Called by the task that is to be held up.
    pub(crate) async fn pass(self) {
        self.reached.add_permits(1);
        self.open.acquire().await.unwrap().forget();
    }

    /// Waits until one more has come to the gate.
    pub(crate) async fn reached(&self) {
        self.reached.acquire().await.unwrap().forget();
    }

    /// Lets one through.
    pub(crate) fn open(&self) {
        self.open.add_permits(1);
    }
}
