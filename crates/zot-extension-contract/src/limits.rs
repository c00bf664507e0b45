//! What an extension may take and register, whoever runs it.

use std::time::Duration;

use crate::manifest::Manifest;

/// How long an extension may take to start unless its manifest says otherwise (`start_timeout`).
/// `npx tsx` and `go run` need most of it.
pub const START_TIME: Duration = Duration::from_secs(60);

/// The bounds of `start_timeout`.
pub(crate) const MIN_START_TIME: Duration = Duration::from_secs(1);
pub(crate) const MAX_START_TIME: Duration = Duration::from_secs(600);

/// Without `ready`, this much silence after hello counts as ready.
pub const READY_SILENCE: Duration = Duration::from_millis(250);

/// How long a list of commands waits for extensions that are still starting.
pub const READY_GRACE: Duration = Duration::from_secs(3);

/// Between `shutdown` and SIGTERM.
pub const SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// Between SIGTERM and SIGKILL.
pub const TERMINATION_TIME: Duration = Duration::from_secs(1);

pub(crate) const FRAME_BYTES: usize = zot_wire::MAX_LINE_BYTES;
pub(crate) const FRAMES_PER_SECOND: u32 = 5_000;
/// A log shorter than a few remarks would be rotated all the time.
pub(crate) const MIN_LOG_BYTES: u64 = 16 * 1024;
pub(crate) const LOG_BYTES: u64 = 1024 * 1024;
/// Memory of a process whose manifest has `permissions` but does not say.
pub(crate) const CONFINED_MEMORY_BYTES: u64 = 2 * 1024 * 1024 * 1024;

pub(crate) const MAX_TOOLS: usize = 256;
pub(crate) const MAX_COMMANDS: usize = 256;
pub(crate) const MAX_COMMAND_NAME_BYTES: usize = 64;
pub(crate) const MAX_TOOL_NAME_BYTES: usize = 128;
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 16 * 1024;
/// A schema goes into every request, and costs many times its length while it is looked at.
pub(crate) const MAX_SCHEMA_BYTES: usize = 64 * 1024;

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
        let memory_bytes = match manifest.permissions.is_some() {
            true => {
                Some(own_memory.map_or(CONFINED_MEMORY_BYTES, |own| own.min(CONFINED_MEMORY_BYTES)))
            }
            false => own_memory,
        };
        Self {
            frame_bytes: limits.frame_bytes.unwrap_or(FRAME_BYTES).min(FRAME_BYTES),
            frames_per_second: limits
                .frames_per_second
                .unwrap_or(FRAMES_PER_SECOND)
                .clamp(1, FRAMES_PER_SECOND),
            log_bytes: limits
                .log_bytes
                .unwrap_or(LOG_BYTES)
                .clamp(MIN_LOG_BYTES, LOG_BYTES),
            memory_bytes,
            start_time: manifest.start_time(),
        }
    }
}
