//! How long written data must last.

use std::cell::Cell;
use std::fs::File;
use std::io;

/// What written data must survive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// The end of the process, whatever its cause: the system has the data.
    #[default]
    ProcessEnd,
    /// A loss of power: the data is on disk before success is reported.
    PowerLoss,
}

thread_local! {
    static SYNCS: Cell<u64> = const { Cell::new(0) };
}

impl Durability {
    /// Waits until the content of `file` is on disk, if required.
    pub fn settle(self, file: &File) -> io::Result<()> {
        match self {
            Self::ProcessEnd => Ok(()),
            Self::PowerLoss => {
                SYNCS.set(SYNCS.get() + 1);
                file.sync_data()
            }
        }
    }

    /// Returns how often this thread has synced through [`Durability::settle`].
    pub fn syncs() -> u64 {
        SYNCS.get()
    }
}
