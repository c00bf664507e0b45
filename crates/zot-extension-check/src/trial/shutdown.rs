//! The end of an extension: asked for, then enforced.

use std::convert::Infallible;
use std::future::pending;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};
use zot_extension_contract::{SHUTDOWN_TIME, TERMINATION_TIME};
use zot_process::GroupEnd;
use zot_wire::extension::{ExtensionFrame, HostFrame};

use super::{Heard, Trial};

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
    /// Whether its process has ended.
    pub(crate) async fn has_ended(&self) -> bool {
        timeout(Duration::ZERO, self.exited()).await.is_ok()
    }

    /// Takes in what it still has to say, and takes leave of its process if that has ended, which
    /// it tells.
    pub(crate) async fn hear_out(
        &mut self,
        aside: &mut (dyn FnMut(Heard) + Send),
    ) -> Option<GroupEnd> {
        let deadline = Instant::now() + LAST_WORDS_TIME;
        while let Some(heard) = self.hear(deadline).await {
            if heard == Heard::Silence {
                break;
            }
            aside(heard);
        }
        if timeout_at(deadline, self.exited()).await.is_ok()
            && let Some(group) = self.group.take()
        {
            self.end = Some(group.close().await);
        }
        self.end
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
        let end = match self.leaves_by(deadline, &mut note).await {
            true => self.hear_out(&mut note).await,
            false => {
                self.terminate(&mut note).await;
                None
            }
        };
        self.readers.shutdown().await;
        Farewell {
            acknowledged,
            status: end.and_then(|end| end.status),
            left_processes: end.is_some_and(|end| end.had_survivors),
        }
    }

    /// Whether the process ended before `deadline`; what it says meanwhile is taken in.
    async fn leaves_by(
        &mut self,
        deadline: Instant,
        aside: &mut (dyn FnMut(Heard) + Send),
    ) -> bool {
        let Some(group) = &self.group else {
            return true;
        };
        tokio::select! {
            left = timeout_at(deadline, group.exited()) => left.is_ok(),
            never = listen(&mut self.heard, aside) => match never {},
        }
    }

    /// Ends it by signals, and listens meanwhile: one that waits for a reader heeds none.
    pub(crate) async fn terminate(&mut self, aside: &mut (dyn FnMut(Heard) + Send)) {
        if let Some(group) = self.group.take() {
            tokio::select! {
                end = group.end(TERMINATION_TIME) => self.end = Some(end),
                never = listen(&mut self.heard, aside) => match never {},
            }
        }
    }

    async fn exited(&self) {
        if let Some(group) = &self.group {
            group.exited().await;
        }
    }
}

async fn listen(
    heard: &mut mpsc::Receiver<Heard>,
    aside: &mut (dyn FnMut(Heard) + Send),
) -> Infallible {
    while let Some(heard) = heard.recv().await {
        aside(heard);
    }
    pending().await
}
