//! Waits for a child to exit without reaping it.
//!
//! Until it is reaped, its process id, which is also the id of its group, cannot be reused, so that
//! signals reach only what was started here. Linux reports the exit through a process descriptor;
//! where there is none (other systems, Linux before 5.3, some sandboxes), the child is polled.

use std::io;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// How often a child without a process descriptor is checked.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

pub(crate) enum ExitWatch {
    #[cfg(target_os = "linux")]
    Descriptor(tokio::io::unix::AsyncFd<rustix::fd::OwnedFd>),
    Polling(Pid),
}

impl ExitWatch {
    pub(crate) fn new(pid: Pid) -> io::Result<Self> {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{PidfdFlags, pidfd_open};
            use tokio::io::{Interest, unix::AsyncFd};
            if let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) {
                #[expect(
                    deprecated,
                    reason = "its successor is unsafe for descriptors that may be swapped or closed \
                              while registered; this `OwnedFd` is private"
                )]
                let watched = AsyncFd::with_interest(descriptor, Interest::READABLE)?;
                return Ok(Self::Descriptor(watched));
            }
        }
        Ok(Self::Polling(pid))
    }

    /// Returns once the child has exited. May be dropped and called again.
    pub(crate) async fn exited(&self) {
        match self {
            #[cfg(target_os = "linux")]
            Self::Descriptor(descriptor) => {
                if descriptor.readable().await.is_err() {
                    // Fails only when the runtime shuts down; the owner's `Drop` ends the group.
                    std::future::pending::<()>().await;
                }
            }
            Self::Polling(pid) => {
                let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
                while let Ok(None) = waitid(WaitId::Pid(*pid), options) {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        }
    }
}
