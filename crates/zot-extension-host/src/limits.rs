//! Limits on what an extension may use, each with what happens when it is reached.

use std::time::Duration;

/// How long after its hello an extension counts as ready without `ready`, unless it still has to
/// declare whether it intercepts.
///
/// Limit: after the hello, the extension counts as ready even if it keeps registering.
pub(crate) const READY_TIME: Duration = Duration::from_secs(3);

/// How long a prompt waits for extensions before it names them.
///
/// Limit: a prompt names the extensions it is waiting for.
pub(crate) const WAITING_NOTE_TIME: Duration = Duration::from_millis(1_500);

/// How long an interceptor may take to answer.
///
/// Limit: `on_failure` decides.
pub const INTERCEPT_TIMEOUT: Duration = Duration::from_secs(5);

/// Limit: the tool call fails.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(60);

/// Limit: the command fails.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);

/// How long an extension that is asked to stop while starting may take to become ready first.
///
/// Limit: an extension told to stop while starting is terminated.
pub(crate) const LATE_START_TIME: Duration = Duration::from_secs(2);

/// How long an extension may take to exit after closing its output: an exiting process closes its
/// output first, and its status is known only later.
///
/// Limit: an extension that closed its output is terminated.
pub(crate) const LEAVE_TIME: Duration = Duration::from_secs(1);

/// The delay before each restart of a crashed extension.
///
/// Limit: after the last one the extension is not restarted.
pub(crate) const RESTART_DELAYS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
];

/// How long an extension has to run to get all its restarts back.
///
/// Limit: all restart attempts are available again.
pub(crate) const RESTART_RESET_TIME: Duration = Duration::from_secs(300);

/// How long an extension may exceed the rate limits.
///
/// Limit: an extension that floods for this long is terminated.
pub(crate) const FLOOD_TIME: Duration = Duration::from_secs(10);

/// The same before its hello, while prompts wait for it.
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
/// Requests to one extension that wait for a response.
///
/// Limit: a further request to the extension fails.
pub(crate) const MAX_PENDING_REQUESTS: usize = 256;
