//! What an extension may cost. Every one of these has a stated behaviour when it is reached.

use std::time::Duration;

/// An extension that is not ready by then, counted from its hello, is taken as ready unless it still
/// has to say whether it intercepts.
///
/// Limit: after the hello, the extension counts as ready even if it keeps registering.
pub(crate) const READY_TIME: Duration = Duration::from_secs(3);

/// A prompt that waits for extensions longer than this says for which.
///
/// Limit: a prompt names the extensions it is waiting for.
pub(crate) const WAITING_NOTE_TIME: Duration = Duration::from_millis(1_500);

/// An interceptor that has not answered by then counts as its `on_failure` says.
///
/// Limit: `on_failure` decides.
pub const INTERCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// Limit: the tool call fails.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(60);

/// Limit: the command fails.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// One that is told to stop before it is ready may come to its `ready` first.
///
/// Limit: an extension told to stop while starting is terminated.
pub(crate) const LATE_START_TIME: Duration = Duration::from_secs(2);

/// Between the end of its output and the end of itself: a process that ends closes its output first,
/// and how it ended is known only then.
///
/// Limit: an extension that closed its output is terminated.
pub(crate) const LEAVE_TIME: Duration = Duration::from_secs(1);

/// How long before each attempt to start a crashed extension again.
///
/// Limit: after the last one the extension is not restarted.
pub(crate) const RESTART_DELAYS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// Who ran well for so long has all its attempts again.
///
/// Limit: all restart attempts are available again.
pub(crate) const GOOD_CONDUCT_TIME: Duration = Duration::from_secs(300);

/// What may wait for an extension that is slow to read; more is dropped (events) or refused.
///
/// Limit: events are dropped and requests refused.
pub(crate) const MAX_OUTBOX_BYTES: usize = 1024 * 1024;

/// An extension that reads nothing for so long, although something waits, is ended.
///
/// Limit: an extension that does not read is terminated.
pub(crate) const EXTENSION_STALL_TIME: Duration = Duration::from_secs(10);

/// An extension that has to be slowed down for so long is ended.
///
/// Limit: an extension that floods for this long is terminated.
pub(crate) const FLOOD_TIME: Duration = Duration::from_secs(10);

/// The same for one that has not said hello yet, while prompts wait for it.
///
/// Limit: an extension that floods for this long before its hello is terminated.
pub(crate) const EARLY_FLOOD_TIME: Duration = Duration::from_secs(3);

/// Limit: the extension is read more slowly.
pub(crate) const FRAME_BYTES_PER_SECOND: u32 = 64 * 1024 * 1024;
/// Limit: standard error is read more slowly.
pub(crate) const LOG_BYTES_PER_SECOND: u32 = 256 * 1024;

/// Limit: the text is cut.
pub(crate) const MAX_NOTIFY_BYTES: usize = 64 * 1024;
/// Limit: the panel is refused.
pub(crate) const MAX_PANEL_BYTES: usize = 256 * 1024;
/// Requests to one extension that wait for an answer.
///
/// Limit: a further request to the extension fails.
pub(crate) const MAX_PENDING_REQUESTS: usize = 256;
