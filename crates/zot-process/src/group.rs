//! A child process together with everything it started.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
mod exit_watch;
#[cfg(target_os = "linux")]
pub(crate) mod protocol;
#[cfg(target_os = "linux")]
mod supervised;
#[cfg(not(target_os = "linux"))]
mod survivors;

#[cfg(not(target_os = "linux"))]
pub use elsewhere::ProcessGroup;
#[cfg(target_os = "linux")]
pub use supervised::ProcessGroup;

use std::process::ExitStatus;
use std::time::Duration;

/// How long processes may take to exit after the program: one that has closed its output is usually
/// about to exit.
///
/// Limit: remaining processes are killed.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// How long a killed process may take to disappear; one stuck in the kernel may never.
///
/// Limit: processes that survive SIGKILL are abandoned.
const KILL_TIME: Duration = Duration::from_secs(2);

/// How long `Drop` waits for killed processes, which blocks the thread.
///
/// Limit: remaining processes are left to the supervisor.
const DROP_TIME: Duration = Duration::from_millis(50);

/// How a process group ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupEnd {
    /// The exit status of the program; `None` if it is unknown.
    pub status: Option<ExitStatus>,
    /// Whether other processes were still running after the program had exited.
    pub had_survivors: bool,
}
