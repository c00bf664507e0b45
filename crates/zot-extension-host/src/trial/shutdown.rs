//! The end of an extension: asked for, then enforced.

use std::process::ExitStatus;
use std::time::Duration;

use rustix::process::Signal;
use tokio::time::{Instant, timeout_at};
use zot_wire::extension::{ExtensionFrame, HostFrame};

use super::{Heard, Trial};

/// How long an extension may take to end once asked.
pub const SHUTDOWN_TIME: Duration = Duration::from_secs(2);

/// How long it may take to heed SIGTERM.
const TERMINATE_TIME: Duration = Duration::from_secs(1);

/// How long last words may take to come through a pipe that someone else may hold open.
const LAST_WORDS_TIME: Duration = Duration::from_millis(200);

/// How an extension ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Farewell {
    /// Whether it answered `shutdown`.
    pub acknowledged: bool,
    /// How it exited by itself; nothing when it had to be made to.
    pub status: Option<ExitStatus>,
    /// Whether processes it had started were still there.
    pub left_processes: bool,
}

impl Trial {
    /// How the extension ended, if it has.
    pub fn status(&mut self) -> Option<ExitStatus> {
        self.group.status()
    }

    /// Waits for the process to end, and for what it still had to say.
    pub(super) async fn hear_out(
        &mut self,
        deadline: Instant,
        aside: &mut (dyn FnMut(Heard) + Send),
    ) {
        let deadline = deadline.min(Instant::now() + LAST_WORDS_TIME);
        while let Some(heard) = self.hear(deadline).await {
            if heard == Heard::Silence {
                break;
            }
            aside(heard);
        }
        let _ = timeout_at(deadline, self.group.child().wait()).await;
    }

    /// Sends `shutdown`, closes standard input, and ends what has not gone in time.
    pub async fn shut_down(mut self, aside: &mut (dyn FnMut(Heard) + Send)) -> Farewell {
        let deadline = Instant::now() + SHUTDOWN_TIME;
        let _ = self.send(&HostFrame::Shutdown).await;
        self.stdin = None;
        let mut acknowledged = false;
        let mut note = |heard: Heard| match heard {
            Heard::Frame(ExtensionFrame::ShutdownAck) => acknowledged = true,
            heard => aside(heard),
        };
        let exited = self.exited(deadline, &mut note).await;
        let mut left_processes = false;
        if exited {
            self.hear_out(Instant::now() + LAST_WORDS_TIME, &mut note)
                .await;
            left_processes = self.group.has_survivors();
        } else {
            self.group.signal(Signal::TERM);
            self.exited(Instant::now() + TERMINATE_TIME, &mut note)
                .await;
        }
        let status = self.status().filter(|_| exited);
        self.group.finish();
        let _ = timeout_at(Instant::now() + TERMINATE_TIME, self.group.child().wait()).await;
        self.readers.shutdown().await;
        Farewell {
            acknowledged,
            status,
            left_processes,
        }
    }

    /// Whether the process ended before `deadline`; what it says meanwhile is taken in.
    async fn exited(&mut self, deadline: Instant, aside: &mut (dyn FnMut(Heard) + Send)) -> bool {
        let mut silent = false;
        loop {
            tokio::select! {
                ended = timeout_at(deadline, self.group.child().wait()) => return ended.is_ok(),
                heard = self.heard.recv(), if !silent => match heard {
                    Some(heard) => aside(heard),
                    None => silent = true,
                },
            }
        }
    }
}
