//! The polite half of the protocol.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any test: who is still there then was forgotten.
const FOREVER: Duration = Duration::from_secs(90);

/// This process as zot sees it.
#[derive(Default)]
pub(super) struct Peer {}

impl Peer {
    /// Writes a frame. False when nobody reads any more.
    pub(super) fn say(&self, frame: &Value) -> bool {
        self.write(format!("{frame}\n").as_bytes())
    }

    /// Writes bytes as they are. False when nobody reads any more.
    pub(super) fn write(&self, bytes: &[u8]) -> bool {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .is_ok()
    }

    pub(super) fn hello(&self) {
        self.say(&json!({"type": "hello", "name": "bad", "version": "1"}));
    }

    pub(super) fn register(&self, tool: &str) {
        self.say(&json!({
            "type": "register_tool",
            "name": tool,
            "description": "does what it does",
            "schema": {"type": "object", "properties": {}},
        }));
    }

    pub(super) fn ready(&self) {
        self.say(&json!({"type": "ready"}));
    }

    pub(super) fn greet(&self, tool: &str) {
        self.hello();
        self.register(tool);
        self.ready();
    }

    pub(super) fn result(&self, id: &Value, text: &str) -> bool {
        self.say(&json!({
            "type": "tool_result",
            "id": id,
            "content": [{"type": "text", "text": text}],
        }))
    }

    /// Hands every frame of zot to `take`, until the input ends or zot says goodbye.
    pub(super) fn serve(&self, mut take: impl FnMut(&Value)) {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let frame: Value = serde_json::from_str(&line).unwrap_or_default();
            if frame["type"] == "shutdown" {
                self.say(&json!({"type": "shutdown_ack"}));
                return;
            }
            take(&frame);
        }
    }

    /// Is polite until its tool is called, then does `misbehave` with the id of the call, every
    /// time.
    pub(super) fn when_called(&self, mut misbehave: impl FnMut(&Value)) {
        self.greet("bad");
        self.serve(|frame| {
            if frame["type"] == "tool_call" {
                misbehave(&frame["id"]);
            }
        });
    }

    /// Does nothing, and reads nothing.
    pub(super) fn sleep(&self) {
        std::thread::sleep(FOREVER);
    }
}
