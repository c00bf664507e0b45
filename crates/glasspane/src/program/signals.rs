//! The signals that ask us to end.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    HungUp,
    Interrupted,
    Terminated,
}

impl EndSignal {
    /// What shells report for a process that this signal ended.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// Listens for requests to end.
#[derive(Debug)]
pub struct Signals {
    hang_up: Signal,
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for one. May be dropped and called again.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            _ = self.hang_up.recv() => EndSignal::HungUp,
            _ = self.interrupt.recv() => EndSignal::Interrupted,
            _ = self.terminate.recv() => EndSignal::Terminated,
        }
    }
}
