//! Carries the records of a session from its thread to the store.

use std::fmt;
use std::io;
use std::sync::mpsc as blocking;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use tokio::sync::mpsc;
use zot_session::Replica;

use crate::store::StoreError;

/// How many appends of a session wait for the store: its thread waits for each of them.
const WAITING_APPENDS: usize = 1;

/// A request of a session's thread, which waits for the answer.
pub(crate) struct Append {
    pub(crate) position: u64,
    pub(crate) bytes: Bytes,
    pub(crate) done: blocking::SyncSender<Result<(), StoreError>>,
}

/// The end that the session's thread writes to.
pub(crate) struct StoreReplica {
    appends: mpsc::Sender<Append>,
    /// Why nothing can be written any more. After an error it is unknown what the store has, so that
    /// only a session that is opened again can go on.
    failed: Mutex<Option<StoreError>>,
}

impl StoreReplica {
    pub(crate) fn new() -> (Self, mpsc::Receiver<Append>) {
        let (appends, requests) = mpsc::channel(WAITING_APPENDS);
        let failed = Mutex::new(None);
        (Self { appends, failed }, requests)
    }

    fn ask(&self, position: u64, bytes: &[u8]) -> Result<(), StoreError> {
        let gone = || StoreError::Unavailable {
            reason: "the session has ended".to_owned(),
        };
        let (done, answer) = blocking::sync_channel(1);
        let request = Append {
            position,
            bytes: Bytes::copy_from_slice(bytes),
            done,
        };
        self.appends.try_send(request).map_err(|_| gone())?;
        // Blocks only this session: it has the thread to itself.
        answer.recv().map_err(|_| gone())?
    }
}

impl Replica for StoreReplica {
    fn append(&self, position: u64, bytes: &[u8]) -> io::Result<()> {
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let result = match &*failed {
            Some(error) => Err(error.clone()),
            None => self.ask(position, bytes),
        };
        result.map_err(|error| {
            *failed = Some(error.clone());
            io::Error::other(error)
        })
    }
}

impl fmt::Debug for StoreReplica {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreReplica")
    }
}
