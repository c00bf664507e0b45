//! One watcher's feed: server-sent events until either side ends it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWrite};
use tokio::net::tcp::OwnedReadHalf;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::journal::{Journal, Next};
use super::response::{head, write_all};

/// How often something is sent while nothing happens, so that both sides notice when the other is gone.
///
/// Limit: a silent stream gets a comment.
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(10);

/// Feeds a watcher that was at `place` before, or begins with a snapshot.
pub(super) async fn feed(
    journal: &Arc<Journal>,
    place: Option<u64>,
    reader: &mut OwnedReadHalf,
    writer: &mut (impl AsyncWrite + Unpin),
    cancel: &CancellationToken,
) -> io::Result<()> {
    let mut changes = journal.watch();
    write_all(
        writer,
        &head(200, "text/event-stream; charset=utf-8", None, false),
    )
    .await?;
    journal.flush();
    let mut place = match place {
        Some(place) => place,
        None => begin(journal, writer).await?,
    };
    loop {
        changes.borrow_and_update();
        match journal.next(place) {
            Next::Frame(frame) => {
                write_all(writer, frame.text.as_bytes()).await?;
                place = frame.last;
                continue;
            }
            Next::Lost => {
                place = begin(journal, writer).await?;
                continue;
            }
            Next::Nothing => {}
        }
        tokio::select! {
            () = cancel.cancelled() => return Ok(()),
            // The sender lives as long as the journal, which we hold.
            _ = changes.changed() => {}
            () = sleep(HEARTBEAT_INTERVAL) => write_all(writer, b": still here\n\n").await?,
            gone = has_left(reader) => return gone,
        }
    }
}

async fn begin(journal: &Journal, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<u64> {
    let snapshot = journal.snapshot();
    write_all(writer, snapshot.text.as_bytes()).await?;
    Ok(snapshot.last)
}

/// Ends when the client closes the connection. What it says meanwhile is of no interest; losing some
/// of it with a dropped future is none either.
async fn has_left(reader: &mut OwnedReadHalf) -> io::Result<()> {
    let mut ignored = [0; 256];
    while reader.read(&mut ignored).await? > 0 {}
    Ok(())
}
