//! Bytes in both directions.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::net::Shutdown;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::Limits;

/// How much is held of each direction of a connection.
const BUFFER_BYTES: usize = 16 * 1024;

/// How often a child that has sent something unread is asked whether it has ended its side.
const END_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// When something was last passed on.
#[derive(Debug)]
pub(super) struct Activity {
    start: Instant,
    /// In milliseconds after the start.
    last: AtomicU64,
}

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            start: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    pub(super) fn note(&self) {
        let elapsed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last.store(elapsed, Ordering::Relaxed);
    }

    /// Returns when nothing was passed on for so long that the connection is given up. What a child that
    /// is gone has left behind must not keep the next one waiting.
    pub(super) async fn silence(&self, client: &TcpStream, server: &TcpStream, limits: &Limits) {
        let after_end = async {
            ended(client).await;
            self.note();
            self.silence_of(limits.ended_time).await;
        };
        tokio::select! {
            () = self.silence_of(limits.idle_time) => {}
            () = after_end => {}
            () = self.stall_of(server, limits.stall_time) => {}
        }
    }

    /// Returns when `server` has not accepted what the child sends for about `time`, and was silent. The
    /// end of a child is not visible before everything that it sent was read.
    async fn stall_of(&self, server: &TcpStream, time: Duration) {
        loop {
            match timeout(time, server.ready(Interest::WRITABLE)).await {
                Err(_) if self.silent_for() >= time => return,
                Err(_) => {}
                Ok(_) => sleep(time).await,
            }
        }
    }

    fn silent_for(&self) -> Duration {
        let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
        self.start.elapsed().saturating_sub(last)
    }

    /// Returns after `time` without activity.
    async fn silence_of(&self, time: Duration) {
        loop {
            match time.checked_sub(self.silent_for()) {
                None | Some(Duration::ZERO) => return,
                Some(left) => sleep(left).await,
            }
        }
    }
}

/// Returns when the child has ended its side of the connection, even if not all that it sent was read.
async fn ended(client: &TcpStream) {
    // While there is something to read, this does not wait.
    while let Ok(ready) = client.ready(Interest::READABLE).await {
        if ready.is_read_closed() {
            return;
        }
        sleep(END_CHECK_INTERVAL).await;
    }
}

/// A socket that is read, written and watched at the same time. At most one reads, and one writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Socket<'a>(pub(super) &'a TcpStream);

impl AsyncRead for Socket<'_> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_read_ready(context))?;
            match self.0.try_read(buffer.initialize_unfilled()) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Socket<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.0.poll_write_ready(context))?;
            match self.0.try_write(bytes) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(rustix::net::shutdown(self.0, Shutdown::Write)?))
    }
}

/// Passes bytes between a child and a server until both have ended, after `early` ones of the child.
pub(super) async fn tunnel(client: &TcpStream, server: &TcpStream, early: &[u8], limits: &Limits) {
    let activity = Activity::new();
    let there = async {
        Socket(server).write_all(early).await?;
        pass(&mut Socket(client), &mut Socket(server), &activity).await
    };
    let mut from_server = Socket(server);
    let mut to_client = Socket(client);
    let back = pass(&mut from_server, &mut to_client, &activity);
    let result = tokio::select! {
        result = async { tokio::try_join!(there, back) } => result.map(drop),
        () = activity.silence(client, server, limits) => Err(io::ErrorKind::TimedOut.into()),
    };
    if result.is_err() {
        // An end that was not orderly must not look like one.
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
}

/// Passes bytes on until the end of `source`, and passes that on too.
pub(super) async fn pass(
    source: &mut (impl AsyncRead + Unpin),
    sink: &mut (impl AsyncWrite + Unpin),
    activity: &Activity,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = source.read(&mut buffer).await?;
        activity.note();
        if length == 0 {
            // The other side may have closed everything already.
            let _ = sink.shutdown().await;
            return Ok(());
        }
        sink.write_all(&buffer[..length]).await?;
        activity.note();
    }
}
