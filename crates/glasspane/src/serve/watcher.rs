//! One watcher's feed: server-sent events until either side ends it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use zot_http_server::ChunkSender;

use super::journal::{Journal, Next};

/// How often a comment is sent while nothing happens, so that both sides notice when the other is gone.
///
/// Limit: a silent stream gets a comment.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// Feeds a watcher that has seen everything up to `position`, or starts with a snapshot.
pub(super) async fn feed(
    journal: Arc<Journal>,
    position: Option<u64>,
    output: ChunkSender,
    cancel: CancellationToken,
) -> io::Result<()> {
    let mut changes = journal.watch();
    journal.flush();
    let mut position = match position {
        Some(position) => position,
        None => send_snapshot(&journal, &output).await?,
    };
    loop {
        changes.borrow_and_update();
        match journal.next(position) {
            Next::Frame(frame) => {
                output.send(frame.text.clone()).await?;
                position = frame.last;
                continue;
            }
            Next::Lost => {
                position = send_snapshot(&journal, &output).await?;
                continue;
            }
            Next::Nothing => {}
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(()),
            // The sender lives as long as the journal.
            _ = changes.changed() => {}
            () = sleep(HEARTBEAT_INTERVAL) => output.send(&b": still here\n\n"[..]).await?,
        }
    }
}

async fn send_snapshot(journal: &Journal, output: &ChunkSender) -> io::Result<u64> {
    let snapshot = journal.snapshot();
    output.send(snapshot.text).await?;
    Ok(snapshot.last)
}
