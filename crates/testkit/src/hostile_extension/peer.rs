//! The correct parts of the protocol.

use std::io::{self, BufRead, Write};
use std::time::Duration;

use serde_json::{Value, json};

/// Longer than any test; a process that is still alive then was forgotten.
const FOREVER: Duration = Duration::from_secs(90);

/// This process as zot sees it.
#[derive(Default)]
pub(super) struct Peer {}

impl Peer {
    /// Writes a frame. Returns false if the reader is gone.
    pub(super) fn send(&self, frame: &Value) -> bool {
        self.write(format!("{frame}\n").as_bytes())
    }

    /// Writes raw bytes. Returns false if the reader is gone.
    pub(super) fn write(&self, bytes: &[u8]) -> bool {
        let mut stdout = io::stdout().lock();
        stdout
            .write_all(bytes)
            .and_then(|()| stdout.flush())
            .is_ok()
    }

    pub(super) fn hello(&self) {
        self.send(&json!({"type": "hello", "name": "bad", "version": "1"}));
    }

    pub(super) fn register(&self, tool: &str) {
        self.send(&json!({
            "type": "register_tool",
            "name": tool,
            "description": "does what it does",
            "schema": {"type": "object", "properties": {}},
        }));
    }

    pub(super) fn ready(&self) {
        self.send(&json!({"type": "ready"}));
    }

    pub(super) fn greet(&self, tool: &str) {
        self.hello();
        self.register(tool);
        self.ready();
    }

    pub(super) fn result(&self, id: &Value, text: &str) -> bool {
        self.send(&json!({
            "type": "tool_result",
            "id": id,
            "content": [{"type": "text", "text": text}],
        }))
    }

    /// Passes every frame of zot to `take`, until the input ends or zot shuts it down.
    pub(super) fn serve(&self, mut take: impl FnMut(&Value)) {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            let frame: Value = serde_json::from_str(&line).unwrap_or_default();
            if frame["type"] == "shutdown" {
                self.send(&json!({"type": "shutdown_ack"}));
                return;
            }
            take(&frame);
        }
    }

    /// Behaves until its tool is called, then calls `misbehave` with the id of each call.
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
