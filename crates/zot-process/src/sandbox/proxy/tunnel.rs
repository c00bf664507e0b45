//! Bytes in both directions.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// How much is held of each direction of a connection.
const BUFFER_BYTES: usize = 16 * 1024;

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

    /// Returns after `time` without activity.
    pub(super) async fn silence_of(&self, time: Duration) {
        loop {
            let last = Duration::from_millis(self.last.load(Ordering::Relaxed));
            let silence = self.start.elapsed().saturating_sub(last);
            match time.checked_sub(silence) {
                None | Some(Duration::ZERO) => return,
                Some(left) => sleep(left).await,
            }
        }
    }
}

/// Passes bytes between a child and a server until both have ended, after `early` ones of the child.
pub(super) async fn tunnel(
    client: &mut TcpStream,
    server: &mut TcpStream,
    early: &[u8],
    idle_time: Duration,
) {
    let activity = Activity::new();
    let result = {
        let (mut from_client, mut to_client) = client.split();
        let (mut from_server, mut to_server) = server.split();
        let there = async {
            to_server.write_all(early).await?;
            pass(&mut from_client, &mut to_server, &activity).await
        };
        let back = pass(&mut from_server, &mut to_client, &activity);
        tokio::select! {
            result = async { tokio::try_join!(there, back) } => result.map(drop),
            () = activity.silence_of(idle_time) => Err(io::ErrorKind::TimedOut.into()),
        }
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
