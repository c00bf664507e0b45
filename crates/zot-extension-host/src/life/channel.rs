//! One of the output streams of an extension's process.

use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};

/// What one read takes at most.
const CHUNK_BYTES: usize = 16 * 1024;

/// How long the end of its output may take to reach us once nobody of its group is left.
const OUTPUT_END_TIME: Duration = Duration::from_millis(50);

pub(super) struct Channel {
    pipe: pipe::Receiver,
    chunk: Vec<u8>,
    pub(super) is_open: bool,
    /// It has said too much and is not heard until then.
    pub(super) paused_until: Option<Instant>,
}

impl Channel {
    pub(super) fn new(pipe: pipe::Receiver) -> Self {
        Self {
            pipe,
            chunk: vec![0; CHUNK_BYTES],
            is_open: true,
            paused_until: None,
        }
    }

    /// Waits for something to read, and tells how much it was; nothing when the stream is closed.
    /// Waits for ever while there can be nothing. May be dropped and called again.
    pub(super) async fn read(&mut self) -> Option<usize> {
        if !self.is_open || self.paused_until.is_some() {
            return pending().await;
        }
        // Unlike `readable` and `try_read`, this takes a short read for a sign that the pipe is
        // empty, and does not read once more to find out.
        let result = self.pipe.read(&mut self.chunk).await;
        self.judge(result)
    }

    /// What there is to read now, paused or not.
    pub(super) fn read_now(&mut self) -> Option<usize> {
        let result = self.pipe.try_read(&mut self.chunk);
        self.judge(result)
    }

    /// The first `count` bytes of what was read last.
    pub(super) fn bytes(&self, count: usize) -> &[u8] {
        &self.chunk[..count]
    }

    /// Whether someone can still write to it, although nobody of the process group is left.
    pub(super) async fn is_held(&mut self) -> bool {
        self.paused_until = None;
        let ended = async {
            while self.is_open {
                self.read().await;
            }
        };
        timeout(OUTPUT_END_TIME, ended).await.is_err()
    }

    pub(super) fn unpause(&mut self, now: Instant) {
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
        }
    }

    fn judge(&mut self, result: io::Result<usize>) -> Option<usize> {
        match result {
            Ok(0) => self.is_open = false,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.is_open = false,
        }
        None
    }
}
