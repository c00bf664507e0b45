//! The stream on which a legacy server sends what no request asked for.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;

use super::Shared;
use super::answering::Answering;
use super::reading::{Content, Events};
use crate::json_rpc::Incoming;
use crate::transport::CallError;

/// The pause before a stream is opened again, where the server names none.
const STREAM_PAUSE: Duration = Duration::from_secs(1);

/// Limit: a server that asks for a shorter pause before its stream is opened again waits this long.
const MIN_STREAM_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause before a stream is opened again. Hosts that cut streams are asked ever less often.
///
/// Limit: a longer pause, asked for by the server or grown by doubling, is cut.
const MAX_STREAM_PAUSE: Duration = Duration::from_secs(300);

/// Returns how long to wait before a stream is opened again.
pub(super) fn pause(asked_milliseconds: Option<u64>) -> Duration {
    let asked = asked_milliseconds.map(Duration::from_millis);
    asked
        .unwrap_or(STREAM_PAUSE)
        .clamp(MIN_STREAM_PAUSE, MAX_STREAM_PAUSE)
}

/// Reads the stream, and opens it again when it ends. Returns when the server has none. `opened` hears
/// when the server has answered for the first time.
pub(super) async fn listen(shared: Arc<Shared>, opened: oneshot::Sender<()>) {
    let mut opened = Some(opened);
    let answering = Answering::default();
    let mut last_id: Option<Vec<u8>> = None;
    let mut asked = None;
    let mut fruitless = 0_u32;
    loop {
        let response = shared.open_stream(last_id.as_deref()).await;
        if let Some(opened) = opened.take() {
            // Nobody waits any more if the server took long.
            let _ = opened.send(());
        }
        match response {
            Ok(response)
                if response.status == 200 && Content::of(&response.headers) == Content::Events =>
            {
                let mut events = Events::new(response);
                let mut was_used = false;
                while let Some(Ok(event)) = events.next().await {
                    was_used = true;
                    // What is not a message is no reason to stop listening.
                    if let Ok(message) = Incoming::decode(&event.data) {
                        answering.take(&shared, message);
                    }
                }
                let decoder = events.decoder();
                // Announcing an id counts as use: the server intends the stream to be opened again.
                was_used |= decoder.last_id().is_some();
                last_id = decoder.last_id().map(<[u8]>::to_vec).or(last_id);
                asked = decoder.retry_milliseconds().or(asked);
                fruitless = if was_used { 0 } else { fruitless + 1 };
            }
            Err(CallError::Disconnected(_)) => fruitless += 1,
            // It is overloaded, or being restarted.
            Ok(response) if response.status == 429 || response.status >= 500 => fruitless += 1,
            // 405: the server has no such stream. Anything else the next request finds out.
            Ok(_) | Err(_) => return,
        }
        let grown = pause(asked).saturating_mul(1 << fruitless.min(16));
        sleep(grown.min(MAX_STREAM_PAUSE)).await;
    }
}
