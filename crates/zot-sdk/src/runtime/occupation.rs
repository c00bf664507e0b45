//! Ensures that only one prompt or compaction runs at a time.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::Busy;

/// The running prompt or compaction, if any, and the token that stops it.
#[derive(Default)]
pub(crate) struct Occupation(Mutex<Option<CancellationToken>>);

impl Occupation {
    pub(super) fn begin(&self) -> Result<CancellationToken, Busy> {
        let mut current = self.lock();
        if current.is_some() {
            return Err(Busy);
        }
        let cancel = CancellationToken::new();
        *current = Some(cancel.clone());
        Ok(cancel)
    }

    pub(crate) fn end(&self) {
        *self.lock() = None;
    }

    pub(super) fn cancel(&self) {
        if let Some(cancel) = self.lock().as_ref() {
            cancel.cancel();
        }
    }

    pub(super) fn is_busy(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
