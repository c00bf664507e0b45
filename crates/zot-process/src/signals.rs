//! The signals that ask this process to end.

#[cfg(test)]
mod tests;

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A request to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// The terminal is gone.
    HungUp,
    Interrupted,
    Terminated,
}

impl EndSignal {
    /// Returns the exit code that shells report for this signal.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

/// Listens for requests to end.
///
/// Hang-ups and interrupts that were ignored at the start (`nohup`, a background job) stay ignored.
#[derive(Debug)]
pub struct EndSignals {
    hangup: Option<Signal>,
    interrupt: Option<Signal>,
    terminate: Signal,
}

impl EndSignals {
    pub fn new() -> io::Result<Self> {
        let ignored = ignored_signals();
        let unless_ignored = |kind: SignalKind| {
            let bit = 1_u64 << (kind.as_raw_value() - 1);
            (ignored & bit == 0).then(|| signal(kind)).transpose()
        };
        Ok(Self {
            hangup: unless_ignored(SignalKind::hangup())?,
            interrupt: unless_ignored(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next request. Cancel-safe.
    pub async fn next(&mut self) -> EndSignal {
        tokio::select! {
            () = received(&mut self.hangup) => EndSignal::HungUp,
            () = received(&mut self.interrupt) => EndSignal::Interrupted,
            _ = self.terminate.recv() => EndSignal::Terminated,
        }
    }
}

async fn received(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

/// Returns the signals ignored at the start, one bit each. Only Linux reports them without unsafe code;
/// elsewhere none counts as ignored.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    parse_ignored(&status).unwrap_or_default()
}

fn parse_ignored(status: &str) -> Option<u64> {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
}
