//! The signals that ask a process to end, and how long it may take.

use std::time::Duration;

pub use zot_process::{EndSignal, EndSignals};

/// How long a job may take to end when the process has to. Tools end theirs within four seconds.
pub const ENDING_TIME: Duration = Duration::from_secs(5);

/// How long the reader is waited for when the process has to end.
pub const LAST_WORDS_TIME: Duration = Duration::from_millis(500);
