//! The work of requests, owned by the loop of a transport.

use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zot_sdk::BoxFuture;

/// How many jobs wait until the loop of the transport starts them.
///
/// Limit: the next request waits.
const JOB_QUEUE_LENGTH: usize = 64;

/// Starts jobs.
#[derive(Clone)]
pub(crate) struct Jobs(mpsc::Sender<BoxFuture<'static, ()>>);

impl Jobs {
    /// Starts a job, unless the server has ended.
    pub(crate) async fn start(&self, job: impl Future<Output = ()> + Send + 'static) {
        let _ = self.0.send(Box::pin(job)).await;
    }
}

/// Runs jobs while it is polled.
pub(crate) struct JobRunner {
    waiting: mpsc::Receiver<BoxFuture<'static, ()>>,
    running: JoinSet<()>,
}

impl JobRunner {
    pub(crate) fn new() -> (Jobs, Self) {
        let (sender, waiting) = mpsc::channel(JOB_QUEUE_LENGTH);
        let runner = Self {
            waiting,
            running: JoinSet::new(),
        };
        (Jobs(sender), runner)
    }

    pub(crate) fn add(&mut self, job: impl Future<Output = ()> + Send + 'static) {
        self.running.spawn(job);
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// Starts the next job, or notices that one has ended. Cancel-safe.
    pub(crate) async fn step(&mut self) {
        tokio::select! {
            Some(job) = self.waiting.recv() => {
                self.running.spawn(job);
            }
            Some(_) = self.running.join_next() => {}
            else => std::future::pending().await,
        }
    }

    /// Waits until all jobs have ended; those that take longer are dropped.
    pub(crate) async fn finish(&mut self, patience: Duration) {
        let ended = async {
            while !self.is_idle() {
                self.step().await;
            }
        };
        let _ = timeout(patience, ended).await;
        self.running.shutdown().await;
    }
}
