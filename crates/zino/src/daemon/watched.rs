//! What watchers are told about a turn: best effort, and never in its way.

#[cfg(test)]
mod tests;

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};
use zot_wire::zino::daemon::{Request, Response};

use crate::unique_name::unique_name;

/// The kind of these events on the bus.
pub const CHANNEL_EVENTS: &str = "channel";

/// How long text is collected before watchers get it.
const TEXT_INTERVAL: Duration = Duration::from_millis(100);

/// How much text is collected.
const COLLECTED_TEXT_BYTES: usize = 4 * 1024;

/// How much of a message, of a tool's output and of a response watchers are told.
///
/// Limit: longer texts are cut for watchers.
const MAX_WATCHED_TEXT_BYTES: usize = 4 * 1024;

const TOOL_RESPONSES: [(&str, &str); 2] = [
    ("<tool_response>", "</tool_response>"),
    ("<task_response>", "</task_response>"),
];

/// Publishes an event under a token.
pub type Publish = Arc<dyn Fn(&str, Bytes) + Send + Sync>;

/// How watchers are reached.
#[derive(Clone)]
pub struct Watchers {
    pub publish: Publish,
    /// The instance of this process on the bus.
    pub node: String,
}

/// What the bus carries about a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnEvent {
    pub turn: String,
    /// The instance of the daemon's process on the bus.
    #[serde(default)]
    pub node: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// The client's message, or a frame of the response, its texts cut; `None` if the turn broke off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<Value>,
}

/// Tells watchers about one turn; does nothing without a bus.
pub(super) struct WatchedTurn(Option<Watched>);

struct Watched {
    watchers: Watchers,
    turn: String,
    channel: Option<String>,
    /// Text that watchers have not got yet.
    text: String,
    /// When they get it.
    due: Instant,
    has_ended: bool,
}

impl WatchedTurn {
    pub(super) fn begin(watchers: Option<&Watchers>, request: &Request) -> Self {
        let Some(watchers) = watchers else {
            return Self(None);
        };
        let watched = Watched {
            watchers: watchers.clone(),
            turn: unique_name(),
            channel: request.channel_id.clone(),
            text: String::new(),
            due: Instant::now(),
            has_ended: false,
        };
        watched.send(Some(json!({"message": beginning(&request.message)})));
        Self(Some(watched))
    }

    /// Takes a piece of the response.
    pub(super) fn delta(&mut self, delta: &str) {
        let Some(watched) = &mut self.0 else { return };
        if let Some(response) = shortened_tool_response(delta) {
            watched.send_text();
            return watched.send(Some(json!({"type": "chunk", "delta": response})));
        }
        if watched.text.is_empty() {
            watched.due = watched.due.max(Instant::now());
        }
        watched.text.push_str(delta);
        if watched.text.len() >= COLLECTED_TEXT_BYTES || watched.due <= Instant::now() {
            watched.send_text();
        }
    }

    /// Waits for `work`, and meanwhile lets watchers have the text so far.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let Some(watched) = &mut self.0 else {
            return work.await;
        };
        let mut work = pin!(work);
        loop {
            if watched.text.is_empty() {
                return work.await;
            }
            tokio::select! {
                biased;
                output = &mut work => return output,
                () = sleep_until(watched.due) => watched.send_text(),
            }
        }
    }

    /// Takes the last frame of the response.
    pub(super) fn end(&mut self, last: &Response) {
        let Some(watched) = &mut self.0 else { return };
        watched.send_text();
        let frame = match last {
            Response::Done { full_text, .. } => {
                json!({"type": "done", "full_text": ending(full_text)})
            }
            Response::Response { content, .. } => {
                json!({"type": "response", "content": ending(content)})
            }
            Response::Error(failure) => {
                let message = failure.message.as_deref().unwrap_or("failed");
                json!({"type": "error", "message": beginning(message)})
            }
            Response::Chunk(_) | Response::Other(_) => return,
        };
        watched.has_ended = true;
        watched.send(Some(frame));
    }
}

impl Watched {
    fn send_text(&mut self) {
        if !self.text.is_empty() {
            self.send(Some(json!({"type": "chunk", "delta": self.text})));
            self.text.clear();
            self.due = Instant::now() + TEXT_INTERVAL;
        }
    }

    fn send(&self, frame: Option<Value>) {
        let event = TurnEvent {
            turn: self.turn.clone(),
            node: self.watchers.node.clone(),
            channel: self.channel.clone(),
            frame,
        };
        if let Ok(payload) = serde_json::to_vec(&event) {
            (self.watchers.publish)(&self.turn, payload.into());
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        if !self.has_ended {
            self.send(None);
        }
    }
}

/// The result of a tool, which is a piece of its own; `None` for other pieces.
fn shortened_tool_response(delta: &str) -> Option<String> {
    let delta = delta.trim();
    TOOL_RESPONSES.iter().find_map(|(begin, end)| {
        let output = delta.strip_prefix(begin)?.strip_suffix(end)?;
        Some(format!("{begin}{}{end}", beginning(output)))
    })
}

fn beginning(text: &str) -> String {
    match text.len() > MAX_WATCHED_TEXT_BYTES {
        true => format!(
            "{}…",
            &text[..text.floor_char_boundary(MAX_WATCHED_TEXT_BYTES)]
        ),
        false => text.to_owned(),
    }
}

fn ending(text: &str) -> String {
    match text.len().checked_sub(MAX_WATCHED_TEXT_BYTES) {
        Some(surplus) if surplus > 0 => format!("…{}", &text[text.ceil_char_boundary(surplus)..]),
        _ => text.to_owned(),
    }
}
