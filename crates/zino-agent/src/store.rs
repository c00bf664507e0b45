//! Where the records of sessions are kept, so that another worker can continue them.

use std::sync::Arc;

use bytes::Bytes;
use zot_conversation::BoxFuture;

/// Keeps sessions for all workers. Only one worker at a time holds a session.
pub trait SessionStore: Send + Sync {
    /// Takes a session for this worker. The session stays taken until its lease is released or lost.
    ///
    /// A session that another worker holds is refused with [`StoreError::Busy`] at once: the caller
    /// decides whether to wait.
    fn take<'a>(
        &'a self,
        session: &'a str,
        profile: &'a str,
        opening: Opening,
    ) -> BoxFuture<'a, Result<TakenSession, StoreError>>;
}

/// Whether a session is expected to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// Creates it. Its id is random; one that exists is refused with [`StoreError::Busy`].
    New,
    /// Refused with [`StoreError::NoSession`] if there is none of this profile.
    Existing,
}

/// A session that this worker holds.
pub struct TakenSession {
    /// Everything that was appended so far, byte for byte.
    pub records: Vec<u8>,
    pub lease: Arc<dyn SessionLease>,
}

/// The right of one worker to write to a session. The store renews it until it is released.
///
/// A lease that is dropped without [`release`](Self::release) is no longer renewed, and expires.
pub trait SessionLease: Send + Sync {
    /// Adds `bytes` at `position`, which is where the records end. Appending the same bytes at the same
    /// position again succeeds and changes nothing.
    ///
    /// Returns only when the store has them, or has failed. It is given up after an error: whether the
    /// store has the bytes is then unknown, and the session has to be taken again to find out.
    fn append(&self, position: u64, bytes: Bytes) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Lets another worker take the session at once.
    fn release(&self) -> BoxFuture<'_, ()>;

    /// Waits until the lease is lost: another worker took the session ([`StoreError::Moved`]), or
    /// renewing failed for so long that one may ([`StoreError::Lost`]). Waits forever once it was
    /// released. Cancel-safe.
    fn lost(&self) -> BoxFuture<'_, StoreError>;
}

/// What the store refused, or why it failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("the session is in use by {owner}")]
    Busy { owner: String },
    #[error("there is no such session")]
    NoSession,
    #[error("the session was taken over by another worker")]
    Moved,
    #[error(
        "the store did not answer for so long that another worker may take the session: open it again"
    )]
    Lost,
    #[error("the store is unavailable: {reason}")]
    Unavailable { reason: String },
}
