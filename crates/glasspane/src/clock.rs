//! The current time, for records.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 before it.
pub fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(0))
}
