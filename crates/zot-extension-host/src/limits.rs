//! What an extension may cost. Every one of these has a stated behaviour when it is reached.

use std::time::Duration;

/// An extension that is not ready by then, counted from its hello, is taken as ready unless it still
/// has to say whether it intercepts.
pub(crate) const READY_TIME: Duration = Duration::from_secs(3);

/// A prompt that waits for extensions longer than this says for which.
pub(crate) const WAITING_NOTE_TIME: Duration = Duration::from_millis(1_500);

/// An interceptor that has not answered by then counts as its `on_failure` says.
pub const INTERCEPT_TIME: Duration = Duration::from_secs(5);

pub const TOOL_TIME: Duration = Duration::from_secs(60);

pub const COMMAND_TIME: Duration = Duration::from_secs(30);

/// One that is told to stop before it is ready may come to its `ready` first.
pub(crate) const LATE_START_TIME: Duration = Duration::from_secs(2);

/// Between the end of its output and the end of itself: a process that ends closes its output first,
/// and how it ended is known only then.
pub(crate) const LEAVE_TIME: Duration = Duration::from_secs(1);

/// How long before each attempt to start a crashed extension again.
pub(crate) const RESTART_DELAYS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Who ran well for so long has all its attempts again.
pub(crate) const GOOD_CONDUCT: Duration = Duration::from_secs(300);

/// What may wait for an extension that is slow to read; more is dropped (events) or refused.
pub(crate) const MAX_OUTBOX_BYTES: usize = 1024 * 1024;

/// An extension that reads nothing for so long, although something waits, is ended.
pub(crate) const STALL_TIME: Duration = Duration::from_secs(10);

/// An extension that has to be slowed down for so long is ended.
pub(crate) const FLOOD_TIME: Duration = Duration::from_secs(10);

/// The same for one that has not said hello yet, while prompts wait for it.
pub(crate) const EARLY_FLOOD_TIME: Duration = Duration::from_secs(3);

pub(crate) const BYTES_PER_SECOND: u32 = 64 * 1024 * 1024;
pub(crate) const LOG_BYTES_PER_SECOND: u32 = 256 * 1024;

pub(crate) const MAX_NOTIFY_BYTES: usize = 64 * 1024;
pub(crate) const MAX_PANEL_BYTES: usize = 256 * 1024;
/// Requests to one extension that wait for an answer.
pub(crate) const MAX_PENDING: usize = 256;
