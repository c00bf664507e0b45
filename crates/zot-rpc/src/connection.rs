//! The streams of one client, and what ends the server besides that client.

use std::future::pending;
use std::io;
use std::os::fd::OwnedFd;

use tokio_util::sync::CancellationToken;
use zot_stdio::executor::IdleSignal;
use zot_stdio::signals::EndSignals;
use zot_stdio::{Input, Output};

use crate::server::Exit;

/// The streams of one client.
pub struct Connection {
    pub(crate) input: Input,
    pub(crate) output: Output,
    pub(crate) ending: Ending,
}

impl Connection {
    /// Uses the standard streams of the process; its signals end the server.
    pub fn standard(idle: IdleSignal) -> io::Result<Self> {
        Ok(Self {
            output: Output::stdout(idle)?,
            input: Input::stdin()?,
            ending: Ending::Signals(EndSignals::new()?),
        })
    }

    /// Uses a pair of pipes; `stop` ends the server.
    pub fn pipes(
        input: OwnedFd,
        output: OwnedFd,
        stop: Stop,
        idle: IdleSignal,
    ) -> io::Result<Self> {
        Ok(Self {
            output: Output::pipe(output, idle)?,
            input: Input::pipe(input)?,
            ending: Ending::Stop {
                stop,
                is_finishing: false,
                is_stopped: false,
            },
        })
    }
}

/// Ends a server whose process goes on. Clones end the same server.
#[derive(Debug, Clone, Default)]
pub struct Stop {
    finish: CancellationToken,
    now: CancellationToken,
}

impl Stop {
    /// Asks the server to end once nothing runs: every command that it read is then answered, and no
    /// other was read.
    pub fn when_idle(&self) {
        self.finish.cancel();
    }

    /// Ends the server at once; running work is aborted.
    pub fn now(&self) {
        self.now.cancel();
    }

    /// Waits until the server was told to end at once. Cancel-safe.
    pub async fn stopped(&self) {
        self.now.cancelled().await;
    }
}

/// What ends a server besides its client.
pub(crate) enum Ending {
    Signals(EndSignals),
    Stop {
        stop: Stop,
        is_finishing: bool,
        is_stopped: bool,
    },
}

impl Ending {
    /// Waits for a reason to end, or for `None`: a request to end when idle. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Exit> {
        match self {
            Self::Signals(signals) => Some(Exit::Signalled(signals.next().await)),
            Self::Stop {
                is_finishing: true, ..
            } => Some(self.stopped().await),
            Self::Stop {
                stop,
                is_finishing,
                is_stopped,
            } => tokio::select! {
                () = stop.now.cancelled(), if !*is_stopped => {
                    *is_stopped = true;
                    Some(Exit::Stopped)
                }
                () = stop.finish.cancelled() => {
                    *is_finishing = true;
                    None
                }
            },
        }
    }

    /// Waits for a reason to end at once that was not reported before. Cancel-safe.
    pub(crate) async fn stopped(&mut self) -> Exit {
        match self {
            Self::Signals(signals) => Exit::Signalled(signals.next().await),
            Self::Stop {
                is_stopped: true, ..
            } => pending().await,
            Self::Stop {
                stop, is_stopped, ..
            } => {
                stop.now.cancelled().await;
                *is_stopped = true;
                Exit::Stopped
            }
        }
    }

    /// Returns whether the server was asked to end when idle.
    pub(crate) fn is_finishing(&self) -> bool {
        matches!(
            self,
            Self::Stop {
                is_finishing: true,
                ..
            }
        )
    }
}
