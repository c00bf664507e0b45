//! What an extension may cost. Every one of these has a stated behaviour when it is reached.

use std::time::Duration;

use crate::manifest::Manifest;

/// How long an extension may take to start unless its manifest says otherwise (`start_timeout`).
/// `npx tsx` and `go run` need most of it.
///
/// Limit: an extension without a hello, or a guard that is not ready, is abandoned.
pub const START_TIME: Duration = Duration::from_secs(60);

/// The bounds of `start_timeout`.
///
/// Limit: a shorter `start_timeout` is raised to this.
pub(crate) const MIN_START_TIME: Duration = Duration::from_secs(1);
/// Limit: a longer `start_timeout` is lowered to this.
pub(crate) const MAX_START_TIME: Duration = Duration::from_secs(600);

/// Without `ready`, this much silence after hello counts as ready.
///
/// Limit: after the hello, the extension counts as ready unless it must still declare whether it intercepts.
pub(crate) const READY_SILENCE: Duration = Duration::from_millis(250);

/// An extension that is not ready by then, counted from its hello, is taken as ready unless it still
/// has to say whether it intercepts.
///
/// Limit: after the hello, the extension counts as ready even if it keeps registering.
pub(crate) const READY_TIME: Duration = Duration::from_secs(3);

/// How long a list of commands waits for extensions that are still starting.
///
/// Limit: a list of commands omits extensions that are still starting.
pub const READY_GRACE: Duration = Duration::from_secs(3);

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

/// Between `shutdown` and SIGTERM.
///
/// Limit: SIGTERM.
pub(crate) const SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// Between SIGTERM and SIGKILL.
///
/// Limit: SIGKILL.
pub(crate) const TERMINATION_TIME: Duration = Duration::from_secs(1);

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
/// Limit: likewise, before its hello.
pub(crate) const EARLY_FLOOD_TIME: Duration = Duration::from_secs(3);

/// Limit: the frame is refused, and whoever waits for it gets an error.
pub(crate) const MAX_EXTENSION_FRAME_BYTES: usize = zot_wire::MAX_WIRE_LINE_BYTES;
/// Limit: the extension is read more slowly.
pub(crate) const FRAMES_PER_SECOND: u32 = 5_000;
/// Limit: the extension is read more slowly.
pub(crate) const FRAME_BYTES_PER_SECOND: u32 = 64 * 1024 * 1024;
/// A log shorter than a few remarks would be rotated all the time.
pub(crate) const MIN_LOG_BYTES: u64 = 16 * 1024;
/// Limit: the log is rotated; one old log is kept.
pub(crate) const MAX_EXTENSION_LOG_BYTES: u64 = 1024 * 1024;
/// Limit: standard error is read more slowly.
pub(crate) const LOG_BYTES_PER_SECOND: u32 = 256 * 1024;

/// Memory of a process whose manifest has `permissions` but does not say.
///
/// Limit: with `permissions`: allocations of the process fail.
pub(crate) const CONFINED_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Limit: the registration is refused.
pub(crate) const MAX_EXTENSION_TOOLS: usize = 256;
/// Limit: the registration is refused.
pub(crate) const MAX_EXTENSION_COMMANDS: usize = 256;
/// Limit: the registration is refused.
pub(crate) const MAX_COMMAND_NAME_BYTES: usize = 64;
/// Limit: the registration is refused.
pub(crate) const MAX_TOOL_NAME_BYTES: usize = 128;
/// Limit: the registration is refused.
pub(crate) const MAX_TOOL_DESCRIPTION_BYTES: usize = 16 * 1024;
/// A schema goes into every request, and costs many times its length while it is looked at.
///
/// Limit: the registration is refused.
pub(crate) const MAX_TOOL_SCHEMA_BYTES: usize = 64 * 1024;
/// Limit: the text is cut.
pub(crate) const MAX_NOTIFY_BYTES: usize = 64 * 1024;
/// Limit: the panel is refused.
pub(crate) const MAX_PANEL_BYTES: usize = 256 * 1024;
/// Requests to one extension that wait for an answer.
///
/// Limit: a further request to the extension fails.
pub(crate) const MAX_PENDING_REQUESTS: usize = 256;

/// The limits of one extension: the host's, tightened by its manifest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EffectiveLimits {
    pub(crate) frame_bytes: usize,
    pub(crate) frames_per_second: u32,
    pub(crate) log_bytes: u64,
    pub(crate) memory_bytes: Option<u64>,
    pub(crate) start_time: Duration,
}

impl EffectiveLimits {
    pub(crate) fn of(manifest: &Manifest) -> Self {
        let limits = &manifest.limits;
        let own_memory = limits.memory_mb.map(|mb| mb.saturating_mul(1024 * 1024));
        let memory_bytes = match manifest.permissions.is_some() {
            true => {
                Some(own_memory.map_or(CONFINED_MEMORY_BYTES, |own| own.min(CONFINED_MEMORY_BYTES)))
            }
            false => own_memory,
        };
        Self {
            frame_bytes: limits
                .frame_bytes
                .unwrap_or(MAX_EXTENSION_FRAME_BYTES)
                .min(MAX_EXTENSION_FRAME_BYTES),
            frames_per_second: limits
                .frames_per_second
                .unwrap_or(FRAMES_PER_SECOND)
                .clamp(1, FRAMES_PER_SECOND),
            log_bytes: limits
                .log_bytes
                .unwrap_or(MAX_EXTENSION_LOG_BYTES)
                .clamp(MIN_LOG_BYTES, MAX_EXTENSION_LOG_BYTES),
            memory_bytes,
            start_time: manifest.start_time(),
        }
    }
}
