//! Limits on what an extension may use and register, in every host.

use std::time::Duration;

use zot_process::sandbox::Level;

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

/// How long an extension that does not send `ready` has to be silent after its hello to count as ready.
///
/// Limit: after the hello, the extension counts as ready unless it must still declare whether it intercepts.
pub const READY_SILENCE: Duration = Duration::from_millis(250);

/// How long a list of commands waits for extensions that are still starting.
///
/// Limit: a list of commands omits extensions that are still starting.
pub const READY_GRACE: Duration = Duration::from_secs(3);

/// Between `shutdown` and SIGTERM.
///
/// Limit: SIGTERM.
pub const SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// Between SIGTERM and SIGKILL.
///
/// Limit: SIGKILL.
pub const TERMINATION_TIME: Duration = Duration::from_secs(1);

/// Limit: the frame is refused, and its caller gets an error.
pub(crate) const MAX_EXTENSION_FRAME_BYTES: usize = zot_wire::MAX_WIRE_LINE_BYTES;
/// Limit: the extension is read more slowly.
pub(crate) const FRAMES_PER_SECOND: u32 = 5_000;
/// A log that holds only a few messages would be rotated all the time.
pub(crate) const MIN_LOG_BYTES: u64 = 16 * 1024;
/// Limit: the log is rotated; one old log is kept.
pub(crate) const MAX_EXTENSION_LOG_BYTES: u64 = 1024 * 1024;
/// Memory of a process whose manifest has `permissions` or a `sandbox`, but no `memory_mb`.
///
/// Limit: with `permissions` or a `sandbox`: allocations of the process fail.
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
/// A schema is part of every request, and checking it takes many times its length in memory.
///
/// Limit: the registration is refused.
pub(crate) const MAX_TOOL_SCHEMA_BYTES: usize = 64 * 1024;

/// The limits of one extension: the host's, tightened by its manifest.
#[derive(Debug, Clone, Copy)]
pub struct EffectiveLimits {
    pub frame_bytes: usize,
    pub frames_per_second: u32,
    pub log_bytes: u64,
    pub memory_bytes: Option<u64>,
    pub start_time: Duration,
}

impl EffectiveLimits {
    pub fn of(manifest: &Manifest) -> Self {
        let limits = &manifest.limits;
        let own_memory = limits.memory_mb.map(|mb| mb.saturating_mul(1024 * 1024));
        let memory_bytes = match manifest.is_confined(Level::Off) {
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
