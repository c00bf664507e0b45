//! One of the output streams of a child.

use std::future::pending;
use std::io;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::time::{Instant, timeout};

/// What one read takes at most.
const CHUNK_BYTES: usize = 16 * 1024;

/// How long to wait for the end of the output once the process group has ended.
const OUTPUT_END_TIME: Duration = Duration::from_millis(50);

/// Our end of a child's output stream.
pub struct Channel {
    pipe: pipe::Receiver,
    chunk: Vec<u8>,
    pub is_open: bool,
    /// It wrote too much, and is not read until then.
    pub paused_until: Option<Instant>,
}

impl Channel {
    pub fn new(pipe: pipe::Receiver) -> Self {
        Self {
            pipe,
            chunk: vec![0; CHUNK_BYTES],
            is_open: true,
            paused_until: None,
        }
    }

    /// Reads and returns the number of bytes; `None` when the stream is closed. Waits forever if it is
    /// already closed or paused. Cancel-safe.
    pub async fn read(&mut self) -> Option<usize> {
        if !self.is_open || self.paused_until.is_some() {
            return pending().await;
        }
        // Unlike `readable` and `try_read`, this takes a short read as a sign that the pipe is empty,
        // and does not read once more to find out.
        let result = self.pipe.read(&mut self.chunk).await;
        self.note_result(result)
    }

    /// Reads without waiting, even if paused.
    pub fn read_now(&mut self) -> Option<usize> {
        let result = self.pipe.try_read(&mut self.chunk);
        self.note_result(result)
    }

    /// Returns the first `count` bytes of what was read last.
    pub fn bytes(&self, count: usize) -> &[u8] {
        &self.chunk[..count]
    }

    /// Returns whether another process still holds it open after the process group has ended.
    pub async fn is_held(&mut self) -> bool {
        self.paused_until = None;
        let ended = async {
            while self.is_open {
                self.read().await;
            }
        };
        timeout(OUTPUT_END_TIME, ended).await.is_err()
    }

    pub fn unpause(&mut self, now: Instant) {
        if self.paused_until.is_some_and(|until| until <= now) {
            self.paused_until = None;
        }
    }

    fn note_result(&mut self, result: io::Result<usize>) -> Option<usize> {
        match result {
            Ok(0) => self.is_open = false,
            Ok(count) => return Some(count),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.is_open = false,
        }
        None
    }
}
