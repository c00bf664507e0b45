//! The signals that ask a process to end, and how long it may take.

use std::time::Duration;

pub use zot_process::{EndSignal, EndSignals};

/// How long a job may take to end when the process has to. Tools end theirs within four seconds.
///
/// Limit: after a signal, running work is abandoned.
pub const SIGNAL_GRACE: Duration = Duration::from_secs(5);

/// How long the reader is waited for when the process has to end.
///
/// Limit: after a signal, output the reader has not taken is discarded.
pub const FLUSH_TIME: Duration = Duration::from_millis(500);
